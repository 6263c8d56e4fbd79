// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks at processes that make code: the device reports one whose stacks end in such code. As long
 * as it is sampled, it is read again, because it goes on to make code, and replaces what it
 * has made.
 */
#include <unistd.h>

#include "clock.h"
#include "watch.h"

#define PAUSE_MIN	1000
#define PAUSE_MAX	8000

/*
 * How often a process that is busy is tried again at once, and microseconds before that. With half,
 * a process that is scanned for most of its time gets no table. With the double, others wait.
 */
#define BUSY_TRIES	30
#define BUSY_PAUSE	3000

/* After a reader was killed, which takes a process's time and others': twice as long each time. */
#define KILLED_MIN	60000
#define KILLED_MAX	3600000

/* A process can make its reader wait. It shall not keep other processes, and files, waiting. */
#define READ_MAX	2

bool watch_is_empty(const struct watch *watch)
{
	u32 i;

	for (i = 0; i < WATCH_MAX; i++)
		if (watch->all[i].pid)
			return false;
	return true;
}

/* Return: whether the process is sampled no more. The device reports it again if it is. */
static bool is_over(const struct watched *watched, int device)
{
	static const struct runtime_table none;
	char message[256];

	return device_load_process(device, watched->pid, watched->cookie, &none, message,
				   sizeof(message));
}

/* Return: the number of the user's processes. */
static u32 nr_of(const struct watch *watch, uid_t owner)
{
	u32 i, nr = 0;

	for (i = 0; i < WATCH_MAX; i++)
		nr += watch->all[i].pid && watch->all[i].owner == owner;
	return nr;
}

/*
 * Return: a place for a process of this user: a free one, one of the user's processes without a
 * table, or one of another user who has more places; NULL: there is none.
 */
static struct watched *find_place(struct watch *watch, uid_t owner)
{
	u32 i, nr, most = nr_of(watch, owner) + 1;
	struct watched *place = NULL;

	for (i = 0; i < WATCH_MAX; i++) {
		struct watched *watched = &watch->all[i];

		if (!watched->pid)
			return watched;
		if (watched->is_read)
			continue;
		nr = nr_of(watch, watched->owner);
		if (nr > most || (!place && watched->owner == owner && !watched->digest)) {
			place = watched;
			most = nr > most ? nr : most;
		}
	}
	return place;
}

/**
 * watch_add - look at a process
 * @watch: the processes. If there are too many, the user with the most of them loses one
 * @device: the device. It reports a process again that was answered
 * @pid: its PID
 * @cookie: of its memory
 * @owner: its user
 */
void watch_add(struct watch *watch, int device, pid_t pid, u64 cookie, uid_t owner)
{
	struct watched *place;
	u32 i;

	for (i = 0; i < WATCH_MAX; i++) {
		struct watched *watched = &watch->all[i];

		if (watched->pid && watched->cookie == cookie) {
			if (watched->was_killed)
				return;
			watched->pause = PAUSE_MIN;
			watched->at = min_t(u64, watched->at, clock_ms() + PAUSE_MIN);
			/* Its tables may be gone. They are loaded again. */
			watched->digest = 0;
			return;
		}
	}
	if (pid <= 0)
		return;
	place = find_place(watch, owner);
	if (!place || place->pid)
		is_over(place ?: &(struct watched){ .pid = pid, .cookie = cookie }, device);
	if (place)
		*place = (struct watched){
			.pid = pid, .cookie = cookie, .owner = owner, .at = clock_ms(),
			.pause = PAUSE_MIN,
		};
}

static u32 nr_read_of(const struct watch *watch, uid_t owner)
{
	u32 i, nr = 0;

	for (i = 0; i < WATCH_MAX; i++)
		nr += watch->all[i].is_read && watch->all[i].owner == owner;
	return nr;
}

/* Return: whether @one is read before @two: its user has fewer readers, or it has waited longer. */
static bool is_before(const struct watch *watch, const struct watched *one,
		      const struct watched *two)
{
	u32 nr1 = nr_read_of(watch, one->owner), nr2 = nr_read_of(watch, two->owner);

	return nr1 != nr2 ? nr1 < nr2 : one->at < two->at;
}

/**
 * watch_next - choose the process that is to be read
 * @watch: the processes
 *
 * Return: the process, after which watch_load() is called; NULL: there is none yet.
 */
struct watched *watch_next(struct watch *watch)
{
	struct watched *next = NULL;
	u64 now = clock_ms();
	u32 i;

	for (i = 0; i < WATCH_MAX && watch->nr_read < READ_MAX; i++) {
		struct watched *watched = &watch->all[i];

		if (watched->pid && !watched->is_read && watched->at <= now &&
		    (!next || is_before(watch, watched, next)))
			next = watched;
	}
	if (next) {
		next->is_read = true;
		watch->nr_read++;
	}
	return next;
}

/* Two results with one digest cost a process that wants them no table but its own. */
static u64 digest(const u8 *bytes, u64 size)
{
	u64 hash = size;

	while (size--)
		hash = (hash ^ *bytes++) * 0x100000001b3;
	return hash;
}

/* The child may have been taken over: each size is checked. Return: NULL after the last table. */
static const struct runtime_table *next_table(const u8 **pos, const u8 *end)
{
	const struct runtime_table *table = (const void *)*pos;

	if (end - *pos < (ssize_t)sizeof(*table) ||
	    table->section_size > (u64)(end - *pos) - sizeof(*table))
		return NULL;
	*pos += sizeof(*table) + table->section_size;
	return table;
}

/*
 * A scan of the process may be under way, and wait for this processor: a pause lets it end. All
 * tables of a process share the @tries, so no process holds the service up for long.
 */
static const char *load_table(const struct watched *watched, int device,
			      const struct runtime_table *table, char *message, u32 size,
			      u32 *tries)
{
	const char *failed;

	for (;; (*tries)--) {
		failed = device_load_process(device, watched->pid, watched->cookie, table, message,
					     size);
		if (!failed || errno != EAGAIN || !*tries)
			return failed;
		usleep(BUSY_PAUSE);
	}
}

/*
 * Sets @nr to the number of tables that were loaded, and @is_busy if the process has changed its
 * mappings meanwhile. Return: NULL, or why not all tables were loaded.
 */
static const char *load(const struct watched *watched, int device, const struct worker *worker,
			u32 *nr, bool *is_busy)
{
	const u8 *pos = worker->section, *end = pos + worker->result.size;
	const char *error = NULL, *failed;
	const struct runtime_table *table;
	static char message[256];
	u32 tries = BUSY_TRIES;

	*nr = 0;
	while (pos && *nr < RUNTIME_TABLES_MAX && (table = next_table(&pos, end))) {
		failed = load_table(watched, device, table, message, sizeof(message), &tries);
		error = failed ?: error;
		*nr += !failed;
		*is_busy |= failed && errno == EAGAIN;
		if (failed && (errno == ESRCH || errno == EPERM))
			break;
	}
	return error ?: *nr ? error : "no runtime in it describes its code";
}

/* Removes a process whose memory cannot be read, after watch_next(). */
void watch_give_up(struct watch *watch, struct watched *watched)
{
	*watched = (struct watched){};
	watch->nr_read--;
}

/**
 * watch_load - load the tables of a process
 * @watch: the processes
 * @watched: the process, from watch_next()
 * @device: the device
 * @worker: the worker that has read it, after worker_end()
 *
 * Tables that are as they were are not loaded again, unless the process was busy.
 *
 * Return: NULL, or the error as a text.
 */
const char *watch_load(struct watch *watch, struct watched *watched, int device,
		       const struct worker *worker)
{
	const char *error = *worker->result.error ? worker->result.error : NULL;
	u64 now = digest(worker->section, worker->section ? worker->result.size : 0);
	bool is_same = now == watched->digest, is_busy = false;
	u32 nr = 0;

	if (!error && !is_same)
		error = load(watched, device, worker, &nr, &is_busy);
	watched->was_killed = worker->is_transient;
	if (watched->was_killed)
		watched->pause = min_t(u64, KILLED_MAX, 2 * watched->pause + KILLED_MIN);
	else
		watched->pause = is_same || is_busy ? min_t(u64, 2 * watched->pause, PAUSE_MAX) :
						      PAUSE_MIN;
	watched->at = clock_ms() + watched->pause;
	watched->digest = is_busy ? 0 : now;
	watched->is_read = false;
	watch->nr_read--;
	/* A process without a table is reported again, if its stacks still end so. */
	if (!nr && (is_over(watched, device) || (!is_same && !is_busy && !watched->was_killed)))
		watched->pid = 0;
	return error;
}
