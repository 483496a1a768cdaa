// Package yamlx reads strict YAML into plain structs and says everything that
// is wrong with a document at once, each problem with its file, line, column,
// the line itself and, where one can guess, what was meant.
//
// Strict means: one document, at most a size; no unknown and no duplicate key;
// no value of another type than the field's; no tags and no merge keys; aliases
// only within a budget. What YAML 1.1 and 1.2 read differently (010, 1_000, yes)
// is refused where a number or a truth value is expected.
//
// It knows nothing of what it reads: configuration, rules and policies describe
// themselves by struct tags (see [Source.Decode]) and add their own checks with
// [Source.Report].
//
// Start with [Parse]; then [Source.Decode]; then [Source.Err]. To change a document
// without touching what is not changed, start with [Edit].
package yamlx
