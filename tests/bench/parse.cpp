/* SPDX-License-Identifier: MIT */

/* Parses a file of JSON Lines with simdjson's On-Demand parser, on one thread, and does
 * nothing else: each value is visited once, numbers are converted, strings are not unescaped.
 * Prints how many rows and values there were. */

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <simdjson.h>

namespace json = simdjson::ondemand;

namespace
{

/* A piece of the file that fits a cache; longer rows than this are not read. */
constexpr size_t PIECE = 1 << 20;

uint64_t values;
double sum; /* so that numbers have to be converted */

[[noreturn]] void fail(const char *what)
{
    std::fprintf(stderr, "parse: %s\n", what);
    std::exit(EXIT_FAILURE);
}

template <class Value> void visit(Value &&value)
{
    values++;
    switch (value.type().value()) {
    case json::json_type::object:
        for (auto field : value.get_object())
            visit(field.value().value());
        break;
    case json::json_type::array:
        for (auto element : value.get_array())
            visit(element.value());
        break;
    case json::json_type::number:
        sum += value.get_number().value().as_double();
        break;
    case json::json_type::string:
        sum += value.get_raw_json_string().value().raw()[0];
        break;
    case json::json_type::boolean:
        sum += value.get_bool().value();
        break;
    default:
        break;
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("FILE");
    std::FILE *file = std::fopen(argv[1], "rb");
    if (!file)
        fail("cannot open the file");
    auto buffer = std::make_unique<char[]>(PIECE + simdjson::SIMDJSON_PADDING);
    json::parser parser;
    parser.threaded = false;
    uint64_t rows = 0;
    size_t held = 0, read;
    while ((read = std::fread(buffer.get() + held, 1, PIECE - held, file)) > 0) {
        held += read;
        size_t end = held;
        while (end > 0 && buffer[end - 1] != '\n')
            end--;
        json::document_stream stream;
        if (end > 0 && parser.iterate_many(buffer.get(), end, PIECE).get(stream))
            fail("bad rows");
        if (end > 0) {
            for (auto row : stream) {
                visit(row.get_value().value());
                rows++;
            }
        }
        held -= end;
        std::memmove(buffer.get(), buffer.get() + end, held);
    }
    if (held > 0)
        fail("the last row does not end");
    std::fclose(file);
    std::printf("%llu rows, %llu values, %g\n", (unsigned long long)rows,
                (unsigned long long)values, sum);
}
