// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl dump: shows all SFrame data of a file. */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "name.h"
#include "object.h"
#include "report.h"
#include "scan.h"
#include "sframectl.h"
#include "text.h"

static const char usage[] =
"Usage: sframectl dump [--json] FILE\n"
"\n"
"Shows the header, the functions and the rows of all SFrame data in FILE: an ELF\n"
"file, linked or not, or a bare section. The FILE [vdso] is the vDSO of the\n"
"running kernel.\n"
"\n"
"A row holds from its offset in the function, +0x6, to the next row. It says\n"
"where the caller's frame is: its stack pointer (cfa=), its frame pointer (fp=),\n"
"its return address (ra=). In a rule, c is the CFA, (c-8) the word in memory\n"
"there, r10 a register, u a value still in its register, [s] a signed address,\n"
"undefined the outermost frame.\n"
"\n"
"Options:\n"
"  --json  one JSON object\n"
"  --help  this text\n";

struct dump {
	const struct object	*obj;
	const char		*path;
};

static void text_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	const struct dump *dump = arg;
	const struct sframe_header *sec = &blob->sec;
	const struct sframe_raw_header *raw = &blob->raw;
	char addr[TEXT_SIZE], flags[TEXT_SIZE];

	printf("blob %u at %s: version %u, %s, flags 0x%x (%s)\n", index,
	       object_addr_text(dump->obj, sec->addr, addr), sec->version,
	       abi_text(sec->abi), sec->flags, flags_text(sec->flags, flags));
	printf("  fixed fp %d, fixed ra %d, auxiliary header %u bytes\n",
	       raw->cfa_fixed_fp_offset, raw->cfa_fixed_ra_offset,
	       raw->auxhdr_len);
	printf("  %u FDEs at offset 0x%" PRIx64 ", %u rows in %u bytes at offset 0x%"
	       PRIx64 "\n", sec->num_fdes, sec->fde_addr - sec->addr,
	       raw->num_fres, sec->fre_len, sec->fre_addr - sec->addr);
}

static enum sframe_defect judge(void *arg, const struct scan_blob *blob,
				const struct sframe_fde *fde)
{
	const struct dump *dump = arg;

	return object_judge(dump->obj, &blob->sec, fde);
}

static void text_fde(void *arg, const struct scan_blob *blob, u32 index,
		     const struct sframe_fde *fde)
{
	const struct dump *dump = arg;
	char addr[TEXT_SIZE];

	(void)blob;
	printf("fde %u at %s size %u rows %u addr%u", index,
	       object_addr_text(dump->obj, fde->start, addr), fde->size,
	       fde->num_fres, 1u << fde->fre_type);
	if (fde->pcmask)
		printf(" mask %u", fde->rep_size);
	if (fde->flex)
		printf(" flex");
	if (fde->signal)
		printf(" signal");
	if (fde->pauth_key_b)
		printf(" key-b");
	putchar('\n');
}

static void text_row(void *arg, const struct scan_blob *blob,
		     const struct sframe_row *row)
{
	struct row_text text;

	(void)arg;
	row_to_text(blob->sec.abi, row, &text);
	printf("    +0x%-5x cfa=%-9s fp=%-9s ra=%s%s\n", row->start, text.cfa,
	       text.fp, text.ra, row->ra_mangled ? " [s]" : "");
}

static void dump_defect(void *arg, const struct scan_place *place,
			enum sframe_defect defect)
{
	const struct dump *dump = arg;

	complain_defect(dump->obj, dump->path, place, defect);
}

static const struct scan_ops text_ops = {
	.blob = text_blob,
	.judge = judge,
	.fde = text_fde,
	.row = text_row,
	.defect = dump_defect,
};

static struct scan_result scan_object(const struct dump *dump, const struct scan_ops *ops)
{
	const struct object *obj = dump->obj;

	if (object_is_empty(obj))
		return (struct scan_result){};
	return scan(obj->data, obj->addr, obj->size, ops, (void *)dump);
}

static struct scan_result dump_text(const struct dump *dump)
{
	const struct object *obj = dump->obj;
	char addr[TEXT_SIZE];

	name_print(stdout, dump->path);
	printf(": %s at %s, %" PRIu64 " bytes\n", obj->place,
	       object_addr_text(obj, obj->addr, addr), obj->size);
	if (object_is_relocatable(obj))
		printf("not linked: %" PRIu64 " starts relocated; addresses are in sections\n",
		       obj->nr_starts);
	return scan_object(dump, &text_ops);
}

static void json_addr(const struct object *obj, const char *key, u64 addr)
{
	if (obj->is_elf)
		json_count(key, addr);
	else
		json_number(key, object_bare_off(addr));
}

static void json_blob(void *arg, const struct scan_blob *blob, u32 index)
{
	const struct dump *dump = arg;
	const struct sframe_header *sec = &blob->sec;

	(void)index;
	json_open(NULL, '{');
	json_addr(dump->obj, "addr", sec->addr);
	json_count("version", sec->version);
	json_count("flags", sec->flags);
	json_count("abi", sec->abi);
	json_number("fixed_fp", blob->raw.cfa_fixed_fp_offset);
	json_number("fixed_ra", blob->raw.cfa_fixed_ra_offset);
	json_count("auxhdr_len", blob->raw.auxhdr_len);
	json_count("num_fdes", sec->num_fdes);
	json_count("num_fres", blob->raw.num_fres);
	json_count("fre_len", sec->fre_len);
	json_count("fdeoff", blob->raw.fdeoff);
	json_count("freoff", blob->raw.freoff);
	json_open("fdes", '[');
}

static void json_fde(void *arg, const struct scan_blob *blob, u32 index,
		     const struct sframe_fde *fde)
{
	const struct dump *dump = arg;

	(void)blob;
	json_open(NULL, '{');
	json_count("index", index);
	json_addr(dump->obj, "start", fde->start);
	json_count("size", fde->size);
	json_count("num_fres", fde->num_fres);
	json_count("addr_size", 1u << fde->fre_type);
	json_bool("pcmask", fde->pcmask);
	json_count("rep_size", fde->rep_size);
	json_bool("flex", fde->flex);
	json_bool("signal", fde->signal);
	json_bool("pauth_key_b", fde->pauth_key_b);
	json_open("rows", '[');
}

static void json_row(void *arg, const struct scan_blob *blob,
		     const struct sframe_row *row)
{
	struct row_text text;

	(void)arg;
	row_to_text(blob->sec.abi, row, &text);
	json_open(NULL, '{');
	json_count("off", row->start);
	json_string("cfa", text.cfa);
	json_string("fp", text.fp);
	json_string("ra", text.ra);
	json_bool("ra_mangled", row->ra_mangled);
	json_close('}');
}

/* Called after the rows of an FDE, and after the FDEs of a blob. */
static void json_end(void *arg)
{
	(void)arg;
	json_close(']');
	json_close('}');
}

static const struct scan_ops json_ops = {
	.blob = json_blob,
	.judge = judge,
	.fde = json_fde,
	.row = json_row,
	.fde_end = json_end,
	.blob_end = json_end,
	.defect = dump_defect,
};

static struct scan_result dump_json(const struct dump *dump)
{
	const struct object *obj = dump->obj;
	struct scan_result result;

	json_open(NULL, '{');
	json_string("file", dump->path);
	json_string("place", obj->place);
	json_bool("relative", !obj->is_elf);
	json_addr(obj, "addr", obj->addr);
	json_count("size", obj->size);
	json_bool("relocatable", object_is_relocatable(obj));
	json_count("relocated", obj->nr_starts);
	json_open("blobs", '[');
	result = scan_object(dump, &json_ops);
	json_close(']');
	json_count("defects", result.defects);
	json_close('}');
	return result;
}

static enum status dump_object(const struct dump *dump, bool json)
{
	struct scan_result result;

	if (!dump->obj->place) {
		complain("%s: %s", dump->path,
			 dump->obj->debug_only ? OBJECT_DEBUG_ONLY : "no .sframe");
		return STATUS_BAD;
	}
	result = json ? dump_json(dump) : dump_text(dump);
	if (complain_result(dump->path, &result))
		return STATUS_BAD;
	if (!result.nr_blobs)
		complain("%s: the section is empty: it describes no function",
			 dump->path);
	if (result.leftover)
		complain("%s: the bytes after offset 0x%" PRIx64 " are no SFrame data",
			 dump->path, result.used);
	return STATUS_OK;
}

static enum status run(const struct arguments *args)
{
	struct object obj;
	struct dump dump = { .obj = &obj };
	enum status status = STATUS_BAD;
	const char *error;

	if (args->nr_names != 1) {
		complain("dump: give one FILE");
		return STATUS_USAGE;
	}
	dump.path = args->names[0];
	error = object_open(&obj, dump.path);
	if (error)
		complain("%s: %s", dump.path, error);
	else
		status = dump_object(&dump, args->json);
	object_close(&obj);
	return status;
}

const struct command dump_command = {
	.name = "dump",
	.usage = usage,
	.options = "j",
	.run = run,
};
