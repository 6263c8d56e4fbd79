// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints names that others chose, so that they are seen and do nothing: no name may
 * control the terminal, begin a new line, or change the direction of the text.
 */
#include "name.h"

/* Return: bytes of the UTF-8 sequence at @s; 0 if there is no valid sequence (RFC 3629). */
static unsigned int utf8_length(const u8 *s)
{
	static const struct {
		u8 first, last;		/* of the leading byte */
		u8 low, high;		/* of the second byte */
		u8 len;
	} forms[] = {
		{ 0x01, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		if (*s < forms[i].first || *s > forms[i].last)
			continue;
		if (forms[i].len == 1)
			return 1;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (k = 2; k < forms[i].len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

/**
 * name_decode - decode a character
 * @s: a string that does not end here
 * @code: set to the code of the character, or to the byte if it is not valid UTF-8
 *
 * Return: number of bytes; 0 if they are not valid UTF-8.
 */
unsigned int name_decode(const char *s, u32 *code)
{
	const u8 *bytes = (const u8 *)s;
	unsigned int i, len = utf8_length(bytes);

	*code = len > 1 ? *bytes & (0x7f >> len) : *bytes;
	for (i = 1; i < len; i++)
		*code = *code << 6 | (bytes[i] & 0x3f);
	return len;
}

/**
 * name_must_escape - is this character invisible?
 * @code: its code
 *
 * Return: true for Unicode's categories Cc (control characters), Cf (format: the
 * direction of text, joiners, tags), Zl and Zp (separators of lines).
 */
bool name_must_escape(u32 code)
{
	static const struct {
		u32 first, last;
	} invisible[] = {
		{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad },
		{ 0x0600, 0x0605 }, { 0x061c, 0x061c }, { 0x06dd, 0x06dd },
		{ 0x070f, 0x070f }, { 0x0890, 0x0891 }, { 0x08e2, 0x08e2 },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f },
		{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe007f },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(invisible); i++)
		if (code >= invisible[i].first && code <= invisible[i].last)
			return true;
	return false;
}

/**
 * name_print - print a name as text
 * @out: where to
 * @name: the name
 *
 * A byte that is not valid UTF-8 becomes \xff, an invisible character becomes \x1b,
 * \u202e or \U000e0041. A backslash is doubled, so the name can be told from the text.
 */
void name_print(FILE *out, const char *name)
{
	unsigned int len;
	u32 code;

	for (; *name; name += len ? len : 1) {
		len = name_decode(name, &code);
		if (len == 0 || (code < 0x80 && name_must_escape(code)))
			fprintf(out, "\\x%02x", code);
		else if (code == '\\')
			fputs("\\\\", out);
		else if (!name_must_escape(code))
			fwrite(name, 1, len, out);
		else
			fprintf(out, code >> 16 ? "\\U%08x" : "\\u%04x", code);
	}
}
