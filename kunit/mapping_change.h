/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes the mappings of a process. Arguments are pages of the scene's area, see
 * scan_scene.h. Functions without page arguments change the scene's image.
 */
#ifndef MAPPING_CHANGE_H
#define MAPPING_CHANGE_H

struct kunit;

void unmap_at(struct kunit *test, unsigned int first, unsigned int nr);
void protect_at(struct kunit *test, unsigned int first, unsigned int nr,
		unsigned long prot);
void move_to(struct kunit *test, unsigned int from, unsigned int nr, unsigned int to);
void map_anonymous(struct kunit *test, unsigned int first, unsigned int nr,
		   unsigned long prot);

/* For these functions the image is at the beginning of the area. */
void unmap_section(struct kunit *test);
void unmap_last_byte(struct kunit *test);
void unmap_first_byte(struct kunit *test);
void forbid_section(struct kunit *test);
void unmap_code(struct kunit *test);
void unmap_code_first(struct kunit *test);
void unmap_code_last(struct kunit *test);
void unmap_headers(struct kunit *test);
void map_over_code(struct kunit *test);
void map_over_section(struct kunit *test);
void map_code_again(struct kunit *test);
void map_section_again(struct kunit *test);
void no_exec(struct kunit *test);
void no_exec_last(struct kunit *test);

#endif /* MAPPING_CHANGE_H */
