package hold_test

import (
	"context"
	"testing"
	"testing/synctest"

	"durward/internal/exchange"
	"durward/internal/hold"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const all = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

func owner() hold.Owner { return hold.Owner{Principal: "p", Server: "s"} }

// answersOf answers from a map.
func answersOf(m map[string]string) func(string) []byte {
	return func(key string) []byte {
		if v, ok := m[key]; ok {
			return []byte(v)
		}
		return nil
	}
}

func TestQuestionsBecomeATurnAndAnswersReachTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := hold.New(hold.Options{})
		defer table.Close()
		do := func(ctx context.Context, out exchange.Stream) exchange.Reply {
			replies := make(chan []byte, 1)
			go func() { replies <- out.Ask(ctx, "roots/list", nil).Result }()
			first := out.Ask(ctx, "elicitation/create", []byte(`{"message":"a"}`)).Result
			return exchange.Reply{Result: append(append([]byte{}, first...), <-replies...)}
		}
		turn, err := table.Begin(t.Context(), owner(), []byte(all), nil, do)
		if err != nil || turn.ID == "" || turn.Round != 1 || len(turn.Questions) != 2 {
			t.Fatalf("%+v, %v", turn, err)
		}
		given := map[string]string{}
		for _, q := range turn.Questions {
			given[q.Key] = `{"for":"` + q.Method + `"}`
		}
		turn, err = table.Resume(t.Context(), owner(), turn.ID, 1, []byte(all), answersOf(given), nil)
		if err != nil || string(turn.Reply.Result) != `{"for":"elicitation/create"}{"for":"roots/list"}` || table.Len() != 0 {
			t.Fatalf("%+v %s, %v, %d", turn, turn.Reply.Result, err, table.Len())
		}
	})
}
