# SPDX-License-Identifier: GPL-2.0-or-later
# Work for awk: counts words, and prints the most frequent ones.
{
	for (i = 1; i <= NF; i++) {
		gsub(/[^a-zA-Z]/, "", $i)
		count[tolower($i)]++
	}
}

END {
	for (word in count)
		if (count[word] > 40 && length(word) > 2)
			printf "%s %d\n", substr(word, 1, 12), count[word]
}
