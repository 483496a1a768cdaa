package seal

// The text of a key file and back.
var (
	KeyFile      = keyFile
	ParseKeyFile = parseKeyFile
)
