package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/identity"
	"durward/internal/paths"
)

// The variables that name a service besides the one on the unix socket. There is
// no flag for the token: every user of a machine can read the arguments of its processes.
const (
	envAPI       = "DURWARD_API"
	envToken     = "DURWARD_API_TOKEN"      //nolint:gosec // a name, not a token
	envTokenFile = "DURWARD_API_TOKEN_FILE" //nolint:gosec // a name, not a token
)

// serviceHelp says in help how a service is chosen.
const serviceHelp = `
The service on the unix socket of this user is used, or that at DURWARD_API
(host:port of its api.listen) with the token in the file DURWARD_API_TOKEN_FILE,
or in DURWARD_API_TOKEN.
`

// serviceAPI returns a client of the service: that on the unix socket, or the one
// that the environment names.
func serviceAPI() (*client.Client, error) {
	address := os.Getenv(envAPI)
	if address == "" {
		return client.New(paths.Socket()), nil
	}
	token, err := apiToken()
	if err != nil {
		return nil, err
	}
	c, err := client.NewTCP(address, token)
	return c, withHint(err, "unset %s to use the service on the unix socket", envAPI)
}

// apiToken reads the token from where the environment says.
func apiToken() (string, error) {
	token, file := os.Getenv(envToken), os.Getenv(envTokenFile)
	switch {
	case token != "" && file != "":
		return "", durward.Errorf(durward.Invalid, "", "%s and %s are both set; which one counts is not guessed, unset one", envToken, envTokenFile)
	case file != "":
		token, err := identity.ReadToken(file)
		return token, withHint(err, "%s must name a file that holds the token and that only you can read", envTokenFile)
	case token != "":
		return token, nil
	default:
		err := durward.Errorf(durward.Unauthenticated, "", "%s is set, and there is no token for it", envAPI)
		return "", withHint(err, "%s=%s, or that of another token file of the service", envTokenFile, shellQuote(paths.APIToken()))
	}
}

// refuseTokens is what happens with a flag that there is not. Who tried to pass a
// credential has shown it to everybody by now.
func refuseTokens(_ *cobra.Command, err error) error {
	var unknown interface{ GetSpecifiedName() string }
	if !errors.As(err, &unknown) {
		return err
	}
	name := strings.ToLower(unknown.GetSpecifiedName())
	for _, word := range []string{"token", "secret", "password", "bearer", "auth"} {
		if strings.Contains(name, word) {
			return withHint(err, "there is no flag for a token: every user of this machine can read the arguments of a process. "+
				"Name a file in %s, or set %s; have a token that was typed replaced (remove its file and restart the service)", envTokenFile, envToken)
		}
	}
	return err
}
