/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which way a path takes through the code of a function: straight on at branches. If that leads to
 * no end, it goes back, and takes the last branch that leads further down the code. Compiles on the
 * host, too.
 */
#ifndef SFRAME_ROUTE_H
#define SFRAME_ROUTE_H

#include "sframe_path.h"

/* A place that a path has come to. */
struct sframe_place {
	u64			addr;
	u64			return_to;
	struct sframe_path	path;
};

/**
 * struct sframe_route - the way of a path
 * @here: where it is
 * @other: the branch to take if it is lost; its address is 0 if there is none
 * @lost: what the path had done when it was lost for the first time
 * @was_lost: whether it was
 */
struct sframe_route {
	struct sframe_place	here;
	struct sframe_place	other;
	struct sframe_path	lost;
	bool			was_lost;
};

static inline void sframe_route_begin(struct sframe_route *route, u64 addr)
{
	*route = (struct sframe_route){ .here = { addr, 0, SFRAME_PATH_INIT } };
}

/* Takes the other branch. Returns whether there is one. */
static inline bool sframe_route_go_back(struct sframe_route *route)
{
	if (!route->was_lost)
		route->lost = route->here.path;
	route->was_lost = true;
	if (!route->other.addr)
		return false;
	route->here = route->other;
	route->other.addr = 0;
	return true;
}

/**
 * sframe_route_go() - go on after an instruction
 * @route: the route, whose path has been followed by this instruction
 * @at: where the path is then
 *
 * Return: SFRAME_PATH_ON if the path goes on, else where it has ended.
 */
static inline enum sframe_path_at sframe_route_go(struct sframe_route *route,
						  enum sframe_path_at at)
{
	struct sframe_place *here = &route->here;

	if (at == SFRAME_PATH_LOST)
		return sframe_route_go_back(route) ? SFRAME_PATH_ON : SFRAME_PATH_LOST;
	here->addr += here->path.size;
	switch (at) {
	case SFRAME_PATH_BRANCH:
		if (here->path.jump > 0) {
			route->other = *here;
			route->other.addr += here->path.jump;
		}
		return SFRAME_PATH_ON;
	case SFRAME_PATH_JUMP:
		/* Back is into a loop. */
		if (here->path.jump >= 0 || !sframe_route_go_back(route))
			here->addr += here->path.jump;
		return SFRAME_PATH_ON;
	case SFRAME_PATH_CALL:
		here->return_to = here->addr;
		here->addr += here->path.jump;
		return SFRAME_PATH_ON;
	case SFRAME_PATH_BACK:
		here->addr = here->return_to;
		return SFRAME_PATH_ON;
	default:
		return at;
	}
}

#endif /* SFRAME_ROUTE_H */
