#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write fixtures/json: small documents that show what the JSON reader accepts, refuses, or may treat either way.

    make_json_fixtures.py [--out fixtures/json]     write them
    make_json_fixtures.py --check                   compare with what is there, and with Python's own reader; exit 1 on a
    mistake

accept/     grammatical; accepted (a repeated key is counted)
reject/     broken; refused with the offset of the offending byte
extension/  broken by the letter, written by real exporters: accepted and counted
either/     the grammar leaves it open; `why` says what our reader does
index.json  name, verdict and reason of every document

The rows of CASES follow the cases of nst/JSONTestSuite in its alphabetical order, one of ours for one of its; the documents
are our own. MORE holds cases that it does not have.
"""
import argparse
import json
import os
import sys

BOM = b"\xef\xbb\xbf"
DEEP = 100_000


def list_of(item):
    return b"[" + item + b"]"


def named(item):
    """The item as the value of a member, the place where broken values usually stand."""
    return b'{"dur": ' + item + b"}"


# ------------------------------------------------------------------------------------------------ numbers out of range, odd
# text What our reader does: numbers keep their text, so no size overflows; bad text becomes U+FFFD and is counted; UTF-16 is
# refused.

EITHER = [
    ("exponent_far_below_double", named(b"86.25e-4400"), "smaller than any double; kept as text"),
    ("exponent_of_a_hundred_digits", named(b"7.5e" + b"31" * 50), "no integer type holds the exponent; kept as text"),
    ("negative_integer_with_huge_exponent", list_of(b"-3e+41000"), "beyond double; kept as text"),
    ("positive_real_with_huge_exponent", list_of(b"2.25e+41000"), "beyond double; kept as text"),
    ("negative_integer_overflows_double", named(b"-4096e77777"), "minus infinity as a double; kept as text"),
    ("positive_integer_overflows_double", named(b"4096e77777"), "infinity as a double; kept as text"),
    ("positive_integer_underflows_double", named(b"4096e-7777777"), "zero as a double; kept as text"),
    ("negative_integer_of_31_digits", list_of(b"-9081726354908172635490817263549"), "below int64; kept as text"),
    ("positive_integer_above_uint64", list_of(b"18446744073709551616"), "2^64: one more than uint64 holds; kept as text"),
    ("negative_integer_of_51_digits", named(b"-" + b"314159265358979323" * 3), "below any integer type; kept as text"),
    ("low_surrogate_alone_in_key", b'{"op\\uDC42": 1}', "becomes U+FFFD in the key, counted"),
    ("high_surrogate_alone_at_end", list_of(b'"aten\\uD94A"'), "becomes U+FFFD, counted"),
    ("high_surrogate_then_other_escape", list_of(b'"\\uD9AB\\u00e9"'), "U+FFFD and the second character, counted"),
    ("utf16_little_endian_with_bom", '["µs"]'.encode("utf-16-le").join([b"\xff\xfe", b""]), "refused: only UTF-8 is read"),
    ("stray_byte_after_valid_utf8", list_of('"тензор'.encode() + b'\xfb"'), "the byte becomes U+FFFD, counted"),
    ("surrogate_encoded_as_utf8", list_of(b'"\xed\xa1\x8c"'), "not allowed in UTF-8; U+FFFD, counted"),
    ("high_surrogate_then_newline_escape", list_of(b'"\\uDA11\\n"'), "U+FFFD and the newline, counted"),
    ("high_surrogate_then_plain_letters", list_of(b'"\\uDa2bcd"'), "U+FFFD and the letters, counted"),
    ("two_high_surrogates_then_escape", list_of(b'"\\uDA11\\uDA12\\t"'), "two U+FFFD and the tab, counted"),
    ("high_surrogate_lower_case_digits", list_of(b'"\\udbaf"'), "becomes U+FFFD, counted"),
    ("high_surrogate_between_letters", list_of(b'"gemm\\uda7fnn"'), "U+FFFD between the letters, counted"),
    ("byte_that_never_starts_utf8", list_of(b'"k\xfe"'), "becomes U+FFFD, counted"),
    ("surrogate_pair_in_wrong_order", list_of(b'"\\uDC0F\\uD83E"'), "two U+FFFD, counted"),
    ("latin_1_letter", list_of(b'"\xfcber"'), "one byte of another encoding; U+FFFD, counted"),
    ("low_surrogate_alone", list_of(b'"\\uDE01"'), "becomes U+FFFD, counted"),
    ("continuation_byte_alone", list_of(b'"a\x9cb"'), "becomes U+FFFD, counted"),
    ("above_the_last_code_point", list_of(b'"\xf4\x90\x80\x81"'), "U+110001 does not exist; U+FFFD, counted"),
    ("overlong_two_bytes", list_of(b'"\xc1\x9c"'), "a backslash in two bytes; must never be read as one"),
    ("overlong_six_bytes", list_of(b'"\xfd\xbf\xbf\xbf\xbf\x81"'), "no such form any more; U+FFFD, counted"),
    ("overlong_six_bytes_for_quote", list_of(b'"\xfc\x80\x80\x80\x80\xa2"'),
     "a quote in six bytes; must never end the string"),
    ("utf8_sequence_cut_short", list_of(b'"\xe7\xf8"'), "two bytes that belong to nothing; U+FFFD, counted"),
    ("utf16_big_endian_without_bom", '["Ω"]'.encode("utf-16-be"), "refused: only UTF-8 is read"),
    ("utf16_little_endian_without_bom", '["Ω"]'.encode("utf-16-le"), "refused: only UTF-8 is read"),
    ("arrays_nested_400_deep", b"[" * 400 + b"7" + b"]" * 400, "within our limit of 512; another reader may allow less"),
    ("bom_before_object", BOM + b'{"traceEvents": []}', "accepted, the mark is counted"),
]

# ------------------------------------------------------------------------------------------------ broken documents

REJECT_ARRAYS = [
    ("array_comma_missing_before_literal", b'[12 false]', "two items without a comma"),
    ("array_bare_word_with_bad_byte", b"[q\xf6]", "a bare word"),
    ("array_colon_between_items", b'["dur": 7]', "a member in an array"),
    ("array_comma_after_the_end", b'[{}],', "a comma after the document"),
    ("array_starts_with_comma", b"[ ,42]", "no item before the comma"),
    ("array_comma_twice_inside", b'["ts",,"dur"]', "no item between two commas"),
    ("array_comma_twice_at_end", b'[{"ph":"X"},,]', "no item after two commas"),
    ("array_closed_twice", b'[12.5]]', "one bracket too many"),
    ("array_comma_before_end", b'[{},]', "a comma after the last item"),
    ("array_not_closed_after_text", b'["aten::mm"', "ends before the bracket"),
    ("array_bare_letter_cut", b"[z", "a bare word, then the end"),
    ("array_inside_array_without_comma", b'["a"["b"]]', "two items without a comma"),
    ("array_of_one_bad_byte", b"[\xc0]", "a byte that starts no token"),
    ("array_items_separated_by_semicolon", b"[3;4]", "a semicolon for a comma"),
    ("array_of_one_comma", b"[ , ]", "a comma and no item"),
    ("array_of_one_minus", b"[ -]", "a sign without digits"),
    ("array_first_item_missing", b'[ \n , {}]', "white space for an item"),
    ("array_over_lines_cut_after_comma", b'[{},\n"b"\n,[],', "ends after a comma"),
    ("array_number_then_comma_before_end", b"[0.5,]", "a comma after the last item"),
    ("array_number_then_commas_before_end", b"[0.5,,,]", "commas after the last item"),
    ("array_control_in_text_and_bare_escape", b'["\x0cx"\\t]', "an escape outside a string"),
    ("array_of_one_asterisk", b"[ * ]", "no such token"),
    ("array_not_closed_after_empty_text", b'["",""', "ends before the bracket"),
    ("array_cut_after_comma", b"[77,", "ends after a comma"),
    ("array_cut_over_lines", b"[\n2\n,3\n,5", "ends before the bracket"),
    ("array_cut_after_object", b'[{"ph":"M"}', "ends before the bracket"),
    ("literal_false_without_last_letter", named(b"fals"), "half a literal"),
    ("literal_null_without_last_letter", named(b"nul"), "half a literal"),
    ("literal_true_without_last_letter", named(b"tru"), "half a literal"),
]

REJECT_NUMBERS = [
    ("number_then_zero_byte", b"4096\x00", "a NUL after the document"),
    ("number_two_plus_signs", named(b"++7"), "no plus sign before a number"),
    ("number_plus_sign", named(b"+42"), "no plus sign before a number"),
    ("inf_with_plus_sign", named(b"+Inf"), "not among the accepted spellings"),
    ("number_minus_zero_then_digit", named(b"-07"), "a leading zero"),
    ("number_second_dot_at_end", named(b"-6.5."), "two decimal points"),
    ("number_negative_ends_with_dot", named(b"-8."), "no digit after the point"),
    ("nan_with_minus_sign", named(b"-NaN"), "not among the accepted spellings"),
    ("number_dot_then_minus", named(b".-4"), "no digit before the point"),
    ("number_dot_first_with_exponent", named(b".5e-6"), "no digit before the point"),
    ("number_two_dots", named(b"2.5.1"), "two decimal points"),
    ("number_fraction_exponent_sign_only", named(b"0.75e+"), "no digit in the exponent"),
    ("number_fraction_exponent_empty", named(b"0.75e"), "no digit in the exponent"),
    ("number_dot_then_exponent", named(b"0.e4"), "no digit after the point"),
    ("number_zero_capital_exponent_sign_only", list_of(b"0E-"), "no digit in the exponent"),
    ("number_zero_capital_exponent_empty", list_of(b"7, 0E"), "no digit in the exponent"),
    ("number_zero_exponent_sign_only", list_of(b"0e-"), "no digit in the exponent"),
    ("number_zero_exponent_empty", list_of(b"7, 0e"), "no digit in the exponent"),
    ("number_real_exponent_plus_only", named(b"31.0e+"), "no digit in the exponent"),
    ("number_real_exponent_minus_only", named(b"31.0e-"), "no digit in the exponent"),
    ("number_real_exponent_empty", named(b"31.0e"), "no digit in the exponent"),
    ("number_space_between_thousands", named(b"14 000.5"), "a space inside a number"),
    ("number_two_exponent_letters", named(b"6Ee3"), "two exponents"),
    ("number_dot_then_positive_exponent", named(b"5.e+2"), "no digit after the point"),
    ("number_dot_then_negative_exponent", named(b"5.e-2"), "no digit after the point"),
    ("number_dot_then_plain_exponent", named(b"5.e2"), "no digit after the point"),
    ("number_dot_then_exponent_sign_only", named(b"5.e+"), "no digit after the point nor in the exponent"),
    ("inf_capitalized", named(b"Inf"), "not among the accepted spellings"),
    None,                                                               # NaN: extension
    ("number_fullwidth_digit", list_of("\uff17".encode()), "a digit of another script"),
    ("number_sum", named(b"40+2"), "an expression"),
    ("number_hexadecimal_one_digit", named(b"0xA"), "no hexadecimal numbers"),
    ("number_hexadecimal_three_digits", named(b"0x7fF"), "no hexadecimal numbers"),
    None,                                                               # Infinity: extension
    ("number_exponent_two_signs", named(b"3e-+2"), "two signs in the exponent"),
    ("number_negative_real_then_letters", named(b"-77.125us"), "a unit after the number"),
    ("number_then_bad_byte", list_of(b"9087\xf1"), "a bad byte inside a number"),
    ("number_exponent_then_bad_byte", list_of(b"5e3\xf1"), "a bad byte inside an exponent"),
    ("number_zero_then_bad_byte", b"[0\xf1]\r\n", "a bad byte after zero"),
    None,                                                               # -Infinity: extension
    ("number_minus_then_letters", named(b"-us"), "a sign without digits"),
    ("number_minus_then_space", named(b"- 42"), "a sign apart from its digits"),
    ("number_negative_leading_zero", named(b"-0042"), "a leading zero"),
    ("number_negative_dot_first", named(b"-.75"), "no digit before the point"),
    ("number_negative_then_letter", named(b"-4k"), "a letter after the number"),
    ("number_letter_in_exponent", named(b"4ex"), "no digit in the exponent"),
    ("number_bad_byte_in_exponent", list_of(b"4e\xf1"), "no digit in the exponent"),
    ("number_ends_with_dot", named(b"42."), "no digit after the point"),
    ("number_dot_first", named(b".75"), "no digit before the point"),
    ("number_letter_inside_fraction", named(b"6.5x-2"), "a letter inside a number"),
    ("number_wrong_exponent_letter", named(b"2.7182818284590452D-10"), "Fortran's exponent letter"),
    ("number_leading_zero", named(b"007"), "a leading zero"),
]

REJECT_OBJECTS = [
    ("literal_misspelled_in_array", b'[7, nulL]', "no such literal"),
    ("object_bracket_for_key", b'{[7]: "ts"}', "a key must be a string"),
    ("object_comma_for_colon", b'{"dur", 7}', "a comma for the colon"),
    ("object_two_colons", b'{"dur":: 7}', "two colons"),
    ("object_of_one_emoji", "{\U0001f525}".encode(), "a key must be a string"),
    ("object_number_after_value", b'{"ph":"X" 7}', "no comma before the next member"),
    ("object_bare_key_single_quoted_value", b"{name: 'aten::mm'}", "JavaScript, not JSON"),
    ("object_bad_byte_key_and_last_comma", b'{"\xa7":7,}', "a comma after the last member"),
    ("object_bare_word_after_key", b'{"ph" X}', "no colon"),
    ("object_without_key", b'{: 7}', "no key"),
    ("object_two_strings_without_colon", b'{"ph" "X"}', "no colon"),
    ("object_cut_after_colon", b'{"ts":', "ends before the value"),
    ("object_cut_after_key", b'{"ts"', "ends before the colon"),
    ("object_number_key", b'{7:"ts"}', "a key must be a string"),
    ("object_huge_number_key", b'{6e66666:"ts"}', "a key must be a string"),
    ("object_literal_keys", b'{true:1,true:1}', "a key must be a string"),
    ("object_commas_before_end", b'{"ts":7,,,}', "commas after the last member"),
    ("object_single_quoted_key", b"{'ts':7}", "single quotes"),
    ("object_comma_before_end", b'{"ts":7,}', "a comma after the last member"),
    ("object_then_block_comment", b'{"ts":7}/* end */', "no comments"),
    ("object_then_block_comment_and_slashes", b'{"ts":7}/* end *///', "no comments"),
    ("object_then_line_comment", b'{"ts":7}// end', "no comments"),
    ("object_then_slash", b'{"ts":7} /', "bytes after the document"),
    ("object_comma_twice_inside", b'{"ts":7,,"dur":2}', "no member between two commas"),
    ("object_bare_key", b'{ts: 7}', "a key must be a string"),
    ("object_cut_inside_value", b'{"name":"aten::', "ends inside a string"),
    ("object_last_member_is_a_key", b'{ "ts" : 7, "dur" }', "a key without value"),
    ("object_then_hash", b'{"ts":7}# end', "bytes after the document"),
]

REJECT_STRINGS = [
    ("blank_document", b" \n", "white space alone is no document"),
    ("text_surrogate_then_backslash_at_end", list_of(b'"\\uD9D9\\"'), "the escape takes the closing quote"),
    ("text_surrogate_then_empty_escape", list_of(b'"\\uD9D9\\u"'), "four hexadecimal digits are due"),
    ("text_surrogate_then_one_digit_escape", list_of(b'"\\uD9D9\\u7"'), "four hexadecimal digits are due"),
    ("text_surrogate_then_bad_digit_escape", list_of(b'"\\uD9D9\\u7z"'), "four hexadecimal digits are due"),
    ("accented_letter_without_quotes", list_of("ü".encode()), "text without quotes"),
    ("text_backslash_zero_byte", list_of(b'"tab\\\x00"'), "no such escape"),
    ("text_hexadecimal_escape", list_of(b'"\\x41"'), "no such escape"),
    ("text_odd_number_of_backslashes", list_of(b'"c:\\\\\\"'), "the escape takes the closing quote"),
    ("text_backslash_raw_tab", list_of(b'"gap\\\t"'), "no such escape"),
    ("text_backslash_emoji", list_of('"\\\U0001f525"'.encode()), "no such escape"),
    ("text_backslash_before_quote_at_end", list_of(b'"name\\"'), "the escape takes the closing quote"),
    ("text_unicode_escape_three_digits", list_of(b'"\\u12b"'), "four hexadecimal digits are due"),
    ("text_second_surrogate_cut", list_of(b'"\\uD83D\\uDe"'), "four hexadecimal digits are due"),
    ("text_two_surrogates_then_bad_escape", list_of(b'"\\uD83D\\uD83D\\q"'), "no such escape"),
    ("text_bad_byte_in_unicode_escape", list_of(b'"\\u\xf1"'), "four hexadecimal digits are due"),
    ("text_escape_of_plain_letter", list_of(b'"\\s"'), "no such escape"),
    ("text_unicode_escape_of_letters", list_of(b'"\\uwxyz"'), "four hexadecimal digits are due"),
    ("text_backslash_bad_byte", list_of(b'"\\\xf1"'), "no such escape"),
    ("escape_before_text", b'[\\u0009"ts"]', "an escape outside a string"),
    ("escape_without_text", b"[\\t]", "an escape outside a string"),
    ("one_double_quote", b' "', "ends inside a string"),
    ("text_in_single_quotes", b"['aten::mm']", "single quotes"),
    ("text_without_quotes", b"aten", "text without quotes"),
    ("text_cut_after_backslash", b'["ts\\', "ends inside an escape"),
    None,                                                               # raw NUL: extension
    None,                                                               # raw newline: extension
    None,                                                               # raw tab: extension
    ("text_unicode_escape_capital_letter", b'"\\U00e9"', "no such escape"),
    ("text_then_letter", b'"ts"s', "bytes after the document"),
]

REJECT_STRUCTURE = [
    ("arrays_opened_100000_times", b"\n" + b"[" * DEEP, "deeper than any limit, and cut"),
    ("array_of_zero_width_space", list_of("\u200b".encode()), "not among JSON's white space"),
    ("bom_without_document", BOM, "a byte order mark is no document"),
    ("markup", b"<a>", "not JSON at all"),
    ("array_of_markup", b"[<true>]", "not JSON at all"),
    ("array_then_letter", b'["ts"]s', "bytes after the document"),
    ("array_then_bracket", b'["ts"] ]', "one bracket too many"),
    ("array_cut_inside_text", b'[7, "ts]', "ends inside a string"),
    ("word_of_two_alphabets", "opß".encode(), "text without quotes"),
    ("bracket_after_text", b'"ts"]', "a bracket that nothing opened"),
    ("object_cut_after_comma", b'{"ts": 7,', "ends after a comma"),
    ("two_documents", b'[]{}', "bytes after the document"),
    ("closing_bracket_alone", b" ]", "a bracket that nothing opened"),
    ("bom_cut_short", b"\xef\xbb[]", "two of the mark's three bytes"),
    ("one_bad_byte", b"\xf1", "a byte that starts no token"),
    ("opening_bracket_alone", b"\n[", "ends before the bracket"),
    ("no_bytes", b"", "nothing is no document"),
    ("zero_byte_in_array", b"[7,\x00]", "not among JSON's white space"),
    ("number_then_at_sign", b"7 @", "bytes after the document"),
    ("object_closed_twice", b'{"ts":7}}', "one brace too many"),
    ("object_cut_after_colon_of_empty_key", b'{"" :', "ends before the value"),
    ("comment_inside_object", b'{"ts":/* us */7}', "no comments"),
    ("object_then_text", b'{"ts": 7} "dur"', "bytes after the document"),
    ("array_cut_inside_single_quote", b"[7,'", "single quotes"),
    ("array_cut_after_first_comma", b"[ ,", "no item before the comma"),
    ("nested_pairs_cut", b'{"a":[' * 6_000, "deeper than any limit, and cut"),
    ("array_cut_inside_object", b"[7,{", "ends inside an object"),
    ("array_cut_inside_second_text", b'["ts","d', "ends inside a string"),
    ("array_cut_after_text", b'["ts","dur"', "ends before the bracket"),
    ("opening_brace_alone", b"\n{", "ends inside an object"),
    ("object_closed_by_bracket", b'{"ts":7]', "the wrong bracket"),
    ("object_starts_with_comma", b'{,"ts":7}', "no member before the comma"),
    ("object_starts_with_bracket", b"{[7", "a key must be a string"),
    ("object_cut_inside_key", b'{"na', "ends inside a string"),
    ("object_cut_after_single_quoted_key", b"{'ts'", "single quotes"),
    ("array_of_text_bad_escapes_cut", b'["\\[{"\\[{"\\[{', "no such escape"),
    ("accented_letter_of_one_byte", b"\xf6", "a byte that starts no token"),
    ("asterisk", b"**", "no such token"),
    ("object_then_hash_and_object", b'{"ts":7}#[]', "bytes after the document"),
    ("newline_escape_before_text", b'[\\u000D"ts"]', "an escape outside a string"),
    ("array_cut_after_number", b"[4096", "ends before the bracket"),
    ("array_cut_inside_null", b"[ 7, nu", "ends inside a literal"),
    ("array_cut_inside_false", b"[ 7, fa", "ends inside a literal"),
    ("array_cut_inside_true", b"[ 7, tr", "ends inside a literal"),
    ("object_cut_after_value", b'{"ph":"X"', "ends before the brace"),
    ("letter_of_two_bytes", "ø".encode(), "text without quotes"),
    ("array_of_word_joiner_and_number", "[\u2060 7]".encode(), "not among JSON's white space"),
    ("array_number_then_form_feed", b"[7\x0c]", "not among JSON's white space"),
]

# ------------------------------------------------------------------------------------------------ good documents

ACCEPT = [
    ("array_inside_array_with_blanks", b"[ [  ]]", "white space between brackets"),
    ("array_of_empty_text", b'["", ""]', "text may be empty"),
    ("array_empty", b"[ ]", "an array may be empty"),
    ("array_of_text", b'["kernel"]', "one item"),
    ("array_of_false", b"[false,false]", "a literal"),
    ("array_of_mixed_kinds", b'[7, "7", null, [], {}]', "kinds may be mixed"),
    ("array_of_null", b"[null, [null]]", "a literal"),
    ("array_newline_before_bracket", b"[42\n\n]", "white space before the bracket"),
    ("array_after_blanks", b"\t [42]", "white space before the document"),
    ("array_of_nulls_between_numbers", b"[0,null,null,9]", "literals between numbers"),
    ("array_before_blanks", b"[42] \t", "white space after the document"),
    ("number_integer_with_exponent", b"[77e30]", "an exponent"),
    ("number_zero_with_signed_exponent", b"[0e+4]", "zero with an exponent"),
    ("number_zero_with_exponent", b"[0e4]", "zero with an exponent"),
    ("number_after_blank", b'{"dur":  42}', "white space before a number"),
    ("number_near_zero", b"[-0." + b"0" * 60 + b"5]\n", "sixty zeros after the point"),
    ("number_tens_with_exponent", b"[40e2]", "an exponent"),
    ("number_minus_zero", named(b"-0"), "minus zero is a number"),
    ("number_negative", named(b"-4096"), "a negative integer"),
    ("number_minus_seven", named(b"-7"), "a negative digit"),
    ("number_minus_zero_in_list", b"[0,-0]", "both zeros"),
    ("number_capital_exponent", named(b"7E12"), "a capital exponent"),
    ("number_capital_negative_exponent", named(b"7E-3"), "a capital exponent with sign"),
    ("number_capital_positive_exponent", named(b"7E+3"), "a capital exponent with sign"),
    ("number_large_exponent", named(b"42e40"), "beyond int64, within double"),
    ("number_fraction_with_exponent", named(b"27.1828e44"), "point and exponent"),
    ("number_negative_exponent", named(b"7e-3"), "an exponent with sign"),
    ("number_positive_exponent", named(b"7e+3"), "an exponent with sign"),
    ("number_integer", named(b"4096"), "an integer"),
    ("number_real", named(b"2718.281828"), "a decimal fraction"),
    ("object_two_members", b'{"ph":"X", "cat":"cpu_op"}', "two members"),
    ("object_one_member", b'{"ph":"X"}', "one member"),
    ("object_key_twice", b'{"name":"first","name":"last"}', "grammatical; the last one counts, counted"),
    ("object_member_twice", b'{"ph":"X","ph":"X"}', "grammatical; counted"),
    ("object_empty", b"{ }", "an object may be empty"),
    ("object_empty_key", b'{"": 42}', "a key may be empty"),
    ("object_zero_escape_in_key", b'{"op\\u0000x": 7}', "a NUL in a key is data"),
    ("object_large_numbers", b'{ "first": -4.5e+26, "last": 4.5e+26 }', "numbers beyond int64"),
    ("object_long_texts", b'{"args":[{"name": "' + b"k" * 90 + b'"}], "name": "' + b"n" * 90 + b'"}',
     "longer than a vector register"),
    ("object_of_array", b'{"traceEvents":[]}', "an empty array as value"),
    ("object_text_of_escapes", b'{"name":"\\u0442\\u0435\\u043d\\u0437\\u043e\\u0440 \\u0432 \\u0431\\u0435\\u0433\\u0443"}',
     "escapes of two-byte letters"),
    ("object_over_lines", b'{\r\n"ts"\n:\n7\r\n}', "line ends of both kinds"),
    ("text_escapes_of_one_to_three_bytes", b'["\\u0040\\u0151\\u20AC"]', "escapes of every length below the surrogates"),
    ("text_surrogate_pair", b'["\\uD83D\\udd25"]', "one character of two escapes"),
    ("text_two_surrogate_pairs", b'["\\ud83d\\ude80\\ud83e\\udde0"]', "two characters of two escapes each"),
    ("text_every_short_escape", b'["\\t\\r\\n\\f\\b\\/\\\\\\""]', "all eight"),
    ("text_escaped_backslash_before_letters", b'["\\\\u0041"]', "a backslash and letters, no escape"),
    ("text_escaped_quote", b'["\\"ts\\""]', "quotes inside text"),
    ("text_like_comments", b'["src/*.c // all"]', "comment signs inside text"),
    ("text_escaped_backslash_before_t", b'["\\\\t"]', "a backslash and a letter"),
    ("text_escaped_backslash_before_r", b'["\\\\r"]', "a backslash and a letter"),
    ("text_escape_of_control", b'["\\u001b"]', "an escaped control character"),
    ("text_escape_of_noncharacter_ffff", b'["k\\uffff"]', "a noncharacter is allowed"),
    ("text_of_letters", b'["gemm"]', "plain text"),
    ("text_after_blanks", b'[  "gemm"]', "white space before text"),
    ("text_last_surrogate_pair", b'["\\udbff\\udfff."]', "U+10FFFF as escapes"),
    ("text_escape_of_no_break_space", b'["42\\u00a0us"]', "an escaped blank"),
    ("text_last_code_point", list_of('"x\U0010ffff"'.encode()), "four bytes, the largest"),
    ("text_noncharacter_ffff", list_of('"x\uffff"'.encode()), "three bytes, a noncharacter"),
    ("text_escape_of_zero", b'["a\\u0000b"]', "a NUL in text is data"),
    ("text_escape_of_semicolon", b'["\\u003b"]', "an escape nobody needs"),
    ("text_greek_letter", list_of('"µs"'.encode()), "a character of two bytes"),
    ("text_unassigned_code_point", list_of('"\U0002ffff"'.encode()), "four bytes, assigned to nothing"),
    ("text_ends_with_blank", b'["gemm  "]', "blanks inside text"),
    ("text_of_blanks", b'"   "', "blanks inside text"),
    ("text_surrogate_pair_mixed_case", b'["\\uD83c\\uDFaf"]', "hexadecimal digits of both cases"),
    ("text_escape_of_three_bytes", b'["\\u0915"]', "an escape of a three-byte letter"),
    ("text_escape_of_two_bytes", b'["\\u0171"]', "an escape of a two-byte letter"),
    ("text_line_separator", list_of('"a\u2028b"'.encode()), "ends a line in JavaScript, not here"),
    ("text_paragraph_separator", list_of('"a\u2029b"'.encode()), "ends a line in JavaScript, not here"),
    ("text_escapes_of_three_alphabets", b'["\\u006b\\u30c6\\u30F3\\u30bd"]', "escapes of one and three bytes"),
    ("text_escape_of_newline", b'["two\\u000alines"]', "an escaped control character"),
    ("text_delete_alone", b'["\x7f\x7f"]', "delete is no control character to JSON"),
    ("text_escape_with_capital_digits", b'["\\uABCD"]', "capital hexadecimal digits"),
    ("text_escape_of_backslash", b'["c:\\u005Ctmp"]', "an escaped backslash stands for itself"),
    ("text_symbols", list_of('"⌘⏎⌘"'.encode()), "characters of three bytes"),
    ("text_escaped_noncharacter_10fffe", b'["x\\udbff\\udffe"]', "a noncharacter is allowed"),
    ("text_escaped_noncharacter_2fffe", b'["\\uD87F\\uDFFE"]', "a noncharacter is allowed"),
    ("text_escape_of_zero_width_space", b'["a\\u200Bb"]', "an invisible character"),
    ("text_escape_of_invisible_times", b'["a\\u2062b"]', "an invisible character"),
    ("text_escaped_noncharacter_fdd1", b'["\\uFDD1"]', "a noncharacter is allowed"),
    ("text_escaped_noncharacter_fffe", b'["x\\ufffe"]', "a noncharacter is allowed"),
    ("text_escape_of_quote", b'["\\u0022ts\\u0022"]', "an escaped quote does not end text"),
    ("text_of_three_and_four_bytes", list_of('"√\U0001f680"'.encode()), "characters of three and four bytes"),
    ("text_delete_between_letters", b'["gem\x7fm"]', "delete is no control character to JSON"),
    ("document_is_false", b"false\n", "a literal is a document"),
    ("document_is_integer", b"4096", "a number is a document"),
    ("document_is_negative_real", b"-7.25", "a number is a document"),
    ("document_is_null", b"\nnull", "a literal is a document"),
    ("document_is_text", b'"gemm"', "a string is a document"),
    ("document_is_true", b" true", "a literal is a document"),
    ("document_is_empty_text", b'"" ', "a string is a document"),
    ("newline_after_document", b'[{"ph":"X"}]\n\n', "white space after the document"),
    ("array_of_true", b"[true, true]", "a literal"),
    ("array_empty_between_blanks", b"\t[\n]\r\n", "white space around the document"),
]

# ------------------------------------------------------------------------------------------------ accepted beyond the
# standard

EXTENSION_CASES = [
    ("nan", named(b"NaN"), "Python writes it; the value is unknown"),
    ("infinity", named(b"Infinity"), "Python writes it; the value is unknown"),
    ("minus_infinity", named(b"-Infinity"), "Python writes it; the value is unknown"),
    ("raw_zero_byte_in_text", list_of(b'"nul\x00byte"'), "kept as data"),
    ("raw_newline_in_text", list_of(b'"two\nlines"'), "kept as data"),
    ("raw_tab_in_text", list_of(b'"tab\there"'), "kept as data"),
]

# ------------------------------------------------------------------------------------------------ our own additions

MORE = [
    ("extension", "nan_lower_case", named(b"nan"), "C++ streams write it"),
    ("extension", "nan_lower_case_minus", named(b"-nan"), "C++ streams write it"),
    ("extension", "inf_lower_case", named(b"inf"), "C++ streams write it"),
    ("extension", "inf_lower_case_minus", named(b"-inf"), "C++ streams write it"),
    ("extension", "literal_capitalized", named(b"False"), "Python's str() writes it"),
    ("extension", "words_of_python", b"[None, True, False]", "Python's str() writes them"),
    ("extension", "numbers_of_windows", b"[1.#INF, -1.#IND00, 1.#QNAN, 1.#SNAN0, -nan(ind), nan(snan), 0]",
     "C writes them so on Windows"),
    ("extension", "raw_carriage_return_in_key", b'{"na\rme": 7}', "kept as data"),
    ("extension", "raw_escape_byte_in_text", list_of(b'"\x1b[31mred"'), "kept as data; reports must not pass it on"),
    ("extension", "several_words_in_one_array", b"[NaN, nan, Infinity, -Infinity, inf, -inf, 1]",
     "six unknown values, one known"),
    ("either", "bom_before_array", BOM + b"[]", "accepted, the mark is counted"),
    ("either", "overlong_three_bytes", list_of(b'"\xe0\x80\xaf"'), "a slash in three bytes; U+FFFD, counted"),
    ("either", "overlong_four_bytes", list_of(b'"\xf0\x80\x80\xaf"'), "a slash in four bytes; U+FFFD, counted"),
    ("either", "last_surrogate_encoded_as_utf8", list_of(b'"\xed\xbf\xbf"'), "U+FFFD, counted"),
    ("either", "utf8_cut_by_the_quote", list_of(b'"ab\xf0\x9f\x94"'), "three of four bytes; the quote still ends the text"),
    ("either", "bad_byte_in_key", b'{"na\xffme": 7}', "becomes U+FFFD in the key, counted"),
    ("reject", "infinity_with_plus_sign", named(b"+Infinity"), "not among the accepted spellings"),
    ("reject", "infinity_lower_case", named(b"infinity"), "not among the accepted spellings"),
    ("reject", "infinity_cut", named(b"Infinit"), "half a word"),
    ("reject", "nan_upper_case", named(b"NAN"), "not among the accepted spellings"),
    ("reject", "nan_then_letter", named(b"nano"), "a longer word"),
    ("reject", "minus_inf_capitalized", named(b"-Inf"), "not among the accepted spellings"),
    ("reject", "number_of_windows_misspelled", named(b"1.#INX"), "not among the accepted spellings"),
    ("reject", "number_of_windows_cut", named(b"1.#IN"), "half a word"),
    ("reject", "none_with_minus_sign", named(b"-None"), "not among the accepted spellings"),
    ("reject", "undefined", named(b"undefined"), "JavaScript, not JSON"),
    ("reject", "digits_with_underscore", named(b"4_096"), "Python, not JSON"),
    ("reject", "octal_number", named(b"0o17"), "Python, not JSON"),
    ("reject", "number_with_comma_for_point", named(b"4,5"), "a key is due after the comma"),
    ("reject", "text_continued_over_line", list_of(b'"two\\\nlines"'), "JavaScript's line continuation"),
    ("reject", "bom_in_the_middle", b"[7," + BOM + b"8]", "a mark only at the start"),
    ("reject", "two_boms", BOM + BOM + b"[]", "one mark at most"),
    ("reject", "no_break_space_outside_text", "[7,\u00a08]".encode(), "not among JSON's white space"),
    ("reject", "document_after_newline", b'{"ts": 7}\n{"ts": 8}\n', "one document per line is another format"),
    ("reject", "objects_opened_12000_times", b'{"a":' * 12_000, "deeper than any limit, and cut"),
    ("reject", "brackets_crossed", b'[{"a":[}]]', "the wrong bracket"),
    ("accept", "integer_uint64_max", named(b"18446744073709551615"), "every digit kept"),
    ("accept", "integer_int64_min", named(b"-9223372036854775808"), "every digit kept"),
    ("accept", "time_of_19_digits", named(b"1712195495520833.313"), "does not fit a double"),
    ("accept", "keys_with_one_beginning", b'{"ts": 1, "tsx": 2, "t": 3, "": 4}', "names must not be compared by prefix"),
    ("accept", "text_of_64_bytes", list_of(b'"' + b"0123456789abcdef" * 4 + b'"'), "exactly four vector registers"),
    ("accept", "text_of_15_bytes_then_escape", list_of(b'"0123456789abcde\\"f"'), "an escape on a register's edge"),
    ("accept", "text_of_31_bytes_then_euro", list_of(b'"' + b"0123456789abcdef" * 2 + '€"'.encode()),
     "a character across a register's edge"),
    ("accept", "backslashes_16_then_quote", list_of(b'"' + b"\\" * 32 + b'"'), "an even run of backslashes"),
    ("accept", "blanks_of_every_kind", b" \t\r\n[ \t\r\n7 \t\r\n, \t\r\n8 \t\r\n] \t\r\n", "all four, everywhere"),
    ("accept", "arrays_nested_64_deep", b"[" * 64 + b"]" * 64, "deep, far from the limit"),
    ("either", "deep_value_of_unknown_key", b'{"x": ' + b"[" * 600 + b"]" * 600 + b', "traceEvents": []}',
     "below the limit for values that are skipped, above that for values that are kept"),
]


def all_cases():
    """(verdict, name, document, why), in the order described above, without the rows that stand under extension."""
    rejected = REJECT_ARRAYS + REJECT_NUMBERS + REJECT_OBJECTS + REJECT_STRINGS + REJECT_STRUCTURE
    extensions = iter(EXTENSION_CASES)
    yield from (("either",) + case for case in EITHER)
    for case in rejected:
        yield ("reject",) + case if case else ("extension",) + next(extensions)
    yield from (("accept",) + case for case in ACCEPT)
    yield from MORE


def built_files():
    index = []
    for verdict, name, document, why in all_cases():
        index.append({"verdict": verdict, "name": name, "bytes": len(document), "why": why})
        yield "%s/%s.json" % (verdict, name), document
    text = "[\n" + ",\n".join(json.dumps(line) for line in index) + "\n]\n"
    yield "index.json", text.encode()


# ------------------------------------------------------------------------------------------------ checks

# Python's reader decodes UTF-16 and UTF-32 when given bytes and reads NaN and Infinity; strict decoding and parse_constant
# take these leniencies away. What is left of them is listed here: none.
PYTHON_ALSO_ACCEPTS = set()


def refuse_constant(word):
    raise ValueError(word)


def python_accepts(document):
    try:
        json.loads(document.decode("utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def disagreements():
    names = set()
    for verdict, name, document, _ in all_cases():
        if name in names:
            yield "%s: name used twice" % name
        names.add(name)
        accepted = python_accepts(document)
        if verdict == "accept" and not accepted:
            yield "%s: Python refuses it" % name
        if verdict in ("reject", "extension") and accepted and name not in PYTHON_ALSO_ACCEPTS:
            yield "%s: Python accepts it" % name


def differences(folder):
    paths = set()
    for path, data in built_files():
        paths.add(path)
        there = os.path.join(folder, path)
        if not os.path.exists(there):
            yield path + ": missing"
            continue
        with open(there, "rb") as stream:
            if stream.read() != data:
                yield path + ": differs"
    for base, _, files in os.walk(folder):
        for name in files:
            path = os.path.relpath(os.path.join(base, name), folder)
            if path not in paths:
                yield path + ": nothing generates it"


def write_all(folder):
    count = 0
    for path, data in built_files():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as stream:
            stream.write(data)
        count += 1
    return count


def main():
    default = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures", "json")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=default, help="folder that holds accept/, reject/, extension/ and either/")
    parser.add_argument("--check", action="store_true", help="compare with the folder instead of writing to it")
    options = parser.parse_args()
    found = list(disagreements())
    if options.check:
        found += differences(options.out)
    elif not found:
        print("%d files written to %s" % (write_all(options.out), options.out))
    print("\n".join(found) if found else "verdicts agree with Python's reader")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
