// SPDX-License-Identifier: GPL-2.0-or-later
// Throws exceptions: through several frames, out of clean-ups, again, and in a thread.
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define noinline __attribute__((__noinline__))

static int nr_cleanups;

struct guard {
	std::string name;

	explicit guard(int n) : name(40, 'a' + n) {}
	~guard() { nr_cleanups += name.size(); }
};

static noinline int fall(int depth)
{
	guard here(depth);

	if (!depth)
		throw std::runtime_error("bottom of " + here.name);
	return fall(depth - 1) + 1;
}

static noinline int again(int depth)
{
	try {
		return fall(depth);
	} catch (const std::logic_error &) {
		return 1;
	} catch (...) {
		guard here(depth);

		throw;
	}
}

static noinline int land(int depth)
{
	try {
		return again(depth);
	} catch (const std::exception &e) {
		return std::string(e.what()).size();
	}
}

static noinline int through_callback(void)
{
	std::vector<std::function<int(int)>> all = { land, [](int n) { return fall(n); } };

	try {
		int sum = 0;

		for (auto &f : all)
			sum += f(3);
		return sum;
	} catch (const std::runtime_error &) {
		return 7;
	}
}

int main()
{
	int sum = 0;

	for (int i = 0; i < 4; i++)
		sum += land(i);
	sum += through_callback();
	std::thread thread([&sum] { sum += land(2); });
	thread.join();
	std::printf("throw: %d %d\n", sum, nr_cleanups);
	return 0;
}
