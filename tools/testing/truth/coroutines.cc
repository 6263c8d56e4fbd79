// SPDX-License-Identifier: GPL-2.0-or-later
// Coroutines of C++20: generators, tasks that go on in each other, exceptions through them, and exceptions out of handlers.
#include <coroutine>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#define noinline __attribute__((__noinline__))

static volatile long sink;

static noinline long work(long n)
{
	return std::to_string(n).size() + (n ? work(n - 1) : 0);
}

struct generator {
	struct promise_type {
		long value;

		generator get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(long n)
		{
			value = n + work(1);
			return {};
		}
		void return_void() {}
		void unhandled_exception() { throw; }
	};

	std::coroutine_handle<promise_type> handle;

	~generator() { handle.destroy(); }
	bool next()
	{
		handle.resume();
		return !handle.done();
	}
};

static generator count(long nr, bool fails)
{
	for (long i = 0; i < nr; i++)
		co_yield i;
	if (fails)
		throw std::runtime_error("end");
}

struct task {
	struct promise_type;
	using handle_type = std::coroutine_handle<promise_type>;

	// The end of a task is a jump to the one that waits for it.
	struct back {
		bool await_ready() noexcept { return false; }
		std::coroutine_handle<> await_suspend(handle_type ended) noexcept { return ended.promise().waiting; }
		void await_resume() noexcept {}
	};

	struct promise_type {
		std::coroutine_handle<> waiting = std::noop_coroutine();
		std::exception_ptr error;
		long value = 0;

		task get_return_object() { return { handle_type::from_promise(*this) }; }
		std::suspend_always initial_suspend() { return {}; }
		back final_suspend() noexcept { return {}; }
		void return_value(long n) { value = n + work(1); }
		void unhandled_exception() { error = std::current_exception(); }
	};

	handle_type handle;

	~task() { handle.destroy(); }
	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting)
	{
		handle.promise().waiting = waiting;
		return handle;
	}
	long await_resume()
	{
		if (handle.promise().error)
			std::rethrow_exception(handle.promise().error);
		return handle.promise().value;
	}
};

static task descend(long n, bool fails)
{
	if (n)
		co_return co_await descend(n - 1, fails) + 1;
	if (fails)
		throw std::runtime_error("bottom");
	co_return work(1);
}

static noinline void generators()
{
	for (bool fails : { false, true }) {
		generator numbers = count(3, fails);

		try {
			while (numbers.next())
				sink += numbers.handle.promise().value;
		} catch (const std::exception &e) {
			sink += work(2);
		}
	}
}

static noinline void tasks()
{
	for (bool fails : { false, true }) {
		task outer = descend(3, fails);

		outer.handle.resume();
		try {
			sink += outer.await_resume();
		} catch (const std::exception &e) {
			sink += work(1);
		}
	}
}

// An exception may leave a handler, and the code that the signal has interrupted.
static void fail(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, nullptr);
	throw std::runtime_error("signal");
}

static noinline long interrupted(volatile long *place)
{
	return work(1) + *place;
}

static noinline void handlers()
{
	std::signal(SIGSEGV, fail);
	try {
		sink += interrupted(reinterpret_cast<volatile long *>(8));
	} catch (const std::exception &e) {
		sink += work(1);
	}
}

int main()
{
	generators();
	tasks();
	handlers();
	std::printf("coroutines: %d\n", sink != 0);
	return 0;
}
