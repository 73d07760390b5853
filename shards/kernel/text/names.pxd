# The C header of names.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    compare, first_id, first_suffix, first_word, last_id, last_suffix,
)
from shards.kernel.text.phrases cimport (
    add_phrase, find_phrase, phrase_cost,
)
from shards.kernel.row_sets cimport (
    add_rows, add_set, add_words, count_common, heads_of, kind_of, set_of, rows_of, size_of,
)
from shards.kernel.types cimport (
    ALONE, BITS, COUNTED, IDENTIFIERS, Int, Key, NOTHING, PHRASE, Question, STORED, SUFFIX_BYTES,
    Scratch, ShardArrays, Source, TOGETHER, TOO_DEAR, UNITED, UNKNOWN, WORDS,
)

cdef Int find_named(
    ShardArrays shard, Question question, Source source, Scratch scratch, Int count
) except? -1 nogil
cdef Int take_bits(
    ShardArrays shard, Question question, Source source, Int names, Int names_set, Int ids, Int ids_set
) noexcept nogil
