package plugin

// Level is how much a finding weighs, as rules and records say it.
type Level uint8

// The levels, from the lightest.
const (
	LevelNone Level = iota
	LevelInfo
	LevelLow
	LevelMedium
	LevelHigh
	LevelCritical
)

// String returns the word used in records.
func (l Level) String() string {
	return [...]string{"none", "info", "low", "medium", "high", "critical"}[min(l, LevelCritical)]
}

// Finding is one thing found in a text.
type Finding struct {
	Kind       string // of a fixed list per plugin, such as aws-access-key
	Start, End int    // bytes of the text, [Start, End)
	Detection  Level
	Detail     string // what kind of thing it is, in words; never the thing itself
}

// maxFindings bounds what is found in one value. Text that holds more is not
// looked through to its end, and so does not pass.
const maxFindings = 1 << 16
