// SPDX-License-Identifier: GPL-2.0-or-later
/* The library of ends.c: it has no .eh_frame at all. */
#include "ends.h"

SPIN(spin_lib);
