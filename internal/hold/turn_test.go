package hold_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/hold"
	"durward/internal/wire"
)

func TestACallThatDoesNotAskIsOneTurn(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(func(context.Context, exchange.Stream) exchange.Reply {
			time.Sleep(time.Hour) // no bound of ours
			return text("done")
		})
		if string(turn.Reply.Result) != "done" || turn.ID != "" || turn.Round != 0 || turn.Questions != nil || turn.Refused != nil {
			t.Errorf("%+v", turn)
		}
		r.at(time.Hour)
	})
}

func TestTheContextOfACallHasTheValuesOfItsRequest(t *testing.T) {
	type key struct{}
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Minute)
		defer cancel()
		var value any
		deadline := true
		if _, err := r.table.Begin(ctx, owner(), []byte(all), nil, func(ctx context.Context, _ exchange.Stream) exchange.Reply {
			value = ctx.Value(key{})
			_, deadline = ctx.Deadline()
			return text("")
		}); err != nil || value != "value" || deadline {
			t.Error(err, value, deadline)
		}
	})
}

// TestB9_QuestionsCloseTogetherAreOneTurn: the window begins anew with each question, and has an end.
func TestB9_QuestionsCloseTogetherAreOneTurn(t *testing.T) {
	var often []time.Duration
	for i := range 26 {
		often = append(often, time.Duration(i)*10*ms)
	}
	for name, c := range map[string]struct {
		times []time.Duration
		first int // questions of the first turn
		at    time.Duration
	}{
		"one":            {[]time.Duration{0}, 1, 15 * ms},
		"together":       {[]time.Duration{0, 0, 0}, 3, 15 * ms},
		"in the window":  {[]time.Duration{5 * ms, 15 * ms, 29 * ms}, 3, 44 * ms},
		"past the quiet": {[]time.Duration{0, 16 * ms}, 1, 15 * ms},
		"without end":    {often, 15, 150 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, hold.Options{}, func(t *testing.T, r *rig) {
				turn := r.begin(askAfter(c.times...))
				r.at(c.at)
				if len(turn.Questions) < c.first || len(turn.Questions) > c.first+1 || turn.Round != 1 || len(turn.ID) < 22 {
					t.Fatalf("%q %s", turn.ID, asked(turn))
				}
				given := answers{}
				for turn.Questions != nil {
					for _, q := range turn.Questions {
						given[q.Key] = string(q.Params)
					}
					turn = r.resume(turn, given)
				}
				if got := string(turn.Reply.Result); strings.Count(got, `{"message":`) != len(c.times) || !strings.HasPrefix(got, `{"message":"a"}`) {
					t.Error(got)
				}
			})
		})
	}
}

func TestTheFinalReplyWinsOverQuestions(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		left := make(chan string, 1)
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			go func() { left <- elicit(ctx, out, "a") }()
			time.Sleep(14 * ms)
			return text("done")
		})
		r.at(14 * ms)
		if string(turn.Reply.Result) != "done" || turn.Questions != nil || turn.ID != "" {
			t.Errorf("%+v", turn)
		}
		if got := <-left; !strings.Contains(message(got), "answered already") {
			t.Error(got)
		}
	})
}

func TestRoundsOfOneCall(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			a := elicit(ctx, out, "a")
			b := elicit(ctx, out, "b")
			time.Sleep(time.Second)
			return text(a + b + elicit(ctx, out, "c"))
		})
		id := turn.ID
		for round, key := range []string{"q1", "q2", "q3"} {
			if turn.ID != id || turn.Round != round+1 || len(turn.Questions) != 1 || turn.Questions[0].Key != key {
				t.Fatalf("%+v", turn)
			}
			turn = r.resume(turn, answers{key: `{"for":"` + key + `"}`, "q9": `{}`})
		}
		if got := string(turn.Reply.Result); got != `{"for":"q1"}{"for":"q2"}{"for":"q3"}` {
			t.Error(got)
		}
		r.at(time.Second + 45*ms)
		r.lost(owner(), id, 3)
		if r.table.Len() != 0 {
			t.Error("a call that is answered is held")
		}
	})
}

func TestAQuestionWithoutAnAnswerIsAskedAgain(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(askAfter(0, 5*ms, 10*ms))
		r.at(25 * ms)
		// None was answered: at once. What is no object is no answer, nor is one for another key.
		for range 3 {
			turn = r.resume(turn, answers{"q1": `"text"`, "q2": `null`, "q3": ``, "q4": `{}`, "": `{}`})
			if got := asked(turn); strings.Count(got, "elicitation/create") != 3 {
				t.Fatal(got)
			}
		}
		turn = r.resume(turn, answers{"q1": `{]`, "q2": ` `, "q3": `[{}]`})
		r.at(25 * ms)
		// One was: the server may now go on without the others, or ask something else.
		turn = r.resume(turn, answers{"q2": ` {"x":2}`})
		r.at(40 * ms)
		if got := asked(turn); got != `6: q1 elicitation/create {"message":"a"}, q3 elicitation/create {"message":"c"}` {
			t.Fatal(got)
		}
		turn = r.resume(turn, answers{"q1": `{"x":1}`, "q2": `{"x":"too late"}`, "q3": `{"x":3}`})
		if got := string(turn.Reply.Result); got != `{"x":1}  {"x":2} {"x":3}` {
			t.Errorf("%q", got)
		}
	})
}

// TestAnAnswerToAQuestionThatWasNotShownIsIgnored: keys can be guessed.
func TestAnAnswerToAQuestionThatWasNotShownIsIgnored(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(askAfter(0, time.Second))
		time.Sleep(time.Minute)
		turn = r.resume(turn, answers{"q1": `{"n":1}`, "q2": `{"guessed":true}`})
		if got := asked(turn); got != `2: q2 elicitation/create {"message":"b"}` {
			t.Fatal(got)
		}
		turn = r.resume(turn, answers{"q1": `{"n":0}`, "q2": `{"n":2}`})
		if got := string(turn.Reply.Result); got != `{"n":1} {"n":2}` {
			t.Error(got)
		}
	})
}

// TestQuestionsBetweenTurnsWaitForTheNext: nobody is there when they come.
func TestQuestionsBetweenTurnsWaitForTheNext(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(askAfter(0, time.Second, 2*time.Second))
		time.Sleep(time.Minute)
		start := time.Now()
		turn = r.resume(turn, answers{})
		if got := asked(turn); strings.Count(got, "elicitation/create") != 3 || time.Since(start) != 0 {
			t.Error(got, time.Since(start))
		}
	})
}

func TestAWithdrawnQuestionIsDropped(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		withdrawn := make(chan string, 2)
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			for _, after := range []time.Duration{5 * ms, 10 * ms} {
				go func() {
					brief, cancel := context.WithTimeout(ctx, after)
					defer cancel()
					withdrawn <- elicit(brief, out, "brief")
				}()
			}
			time.Sleep(12 * ms) // nothing is open then
			return text(elicit(ctx, out, "b"))
		})
		r.at(27 * ms)
		if got := asked(turn); got != `1: q3 elicitation/create {"message":"b"}` {
			t.Fatal(got)
		}
		for range 2 {
			if got := <-withdrawn; !strings.Contains(message(got), "elicitation/create was withdrawn") {
				t.Error(got)
			}
		}
		if turn = r.resume(turn, answers{"q1": `{"wrong":1}`, "q2": `{"wrong":2}`, "q3": `{}`}); string(turn.Reply.Result) != `{}` {
			t.Errorf("%+v", turn)
		}
	})
}

func TestAQuestionWithdrawnBetweenTurnsTakesNoAnswer(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			brief, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			first := message(elicit(brief, out, "a"))
			return text(first + elicit(ctx, out, "b"))
		})
		time.Sleep(2 * time.Second)
		turn = r.resume(turn, answers{"q1": `{"n":1}`})
		if got := asked(turn); got != `2: q2 elicitation/create {"message":"b"}` {
			t.Fatal(got)
		}
		turn = r.resume(turn, answers{"q1": `{"n":1}`, "q2": `{"n":2}`})
		if got := string(turn.Reply.Result); !strings.HasSuffix(got, `{"n":2}`) || !strings.Contains(got, "withdrawn") {
			t.Error(got)
		}
	})
}

// TestARetryThatFindsNothingOpenWaitsAsTheFirstRequestDid for the server to fall silent.
func TestARetryThatFindsNothingOpenWaitsAsTheFirstRequestDid(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			brief, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			elicit(brief, out, "brief")
			time.Sleep(2 * time.Second)
			return askAfter(0, 5*ms)(ctx, out)
		})
		time.Sleep(2 * time.Second)
		turn = r.resume(turn, answers{})
		if len(turn.Questions) != 2 || turn.Round != 2 {
			t.Error(asked(turn))
		}
		r.at(3020 * ms)
	})
}

// TestAfterWithdrawalsTheWindowBeginsAnew: a question that comes when none is open is a first one.
func TestAfterWithdrawalsTheWindowBeginsAnew(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			for range 30 {
				brief, cancel := context.WithTimeout(ctx, 10*ms)
				elicit(brief, out, "a")
				cancel()
			}
			return text(elicit(ctx, out, "b"))
		})
		r.at(315 * ms)
	})
}

func TestWhatTheClientDidNotDeclareIsRefused(t *testing.T) {
	ask := func(method, params string) func(context.Context, exchange.Stream) string {
		return func(ctx context.Context, out exchange.Stream) string {
			return string(out.Ask(ctx, method, []byte(params)).Error)
		}
	}
	for _, c := range []struct {
		capabilities string
		ask          func(context.Context, exchange.Stream) string
		code         int
		refused      string
	}{
		{`{}`, ask("roots/list", `{}`), wire.CodeMethodNotFound, "roots"},
		{`{"roots":true}`, ask("roots/list", `{}`), wire.CodeMethodNotFound, "roots"},
		{`{"elicitation":{}}`, ask("elicitation/create", `{"mode":"url"}`), wire.CodeInvalidParams, "elicitation.url"},
		{`{"elicitation":{"url":{}}}`, ask("elicitation/create", `{}`), wire.CodeInvalidParams, "elicitation.form"},
		{`{"sampling":{}}`, ask("sampling/createMessage", `{"tools":[]}`), wire.CodeInvalidParams, "sampling.tools"},
		{all, ask("vendor/ask", `{}`), wire.CodeMethodNotFound, ""},
		{all, ask("tasks/get", `{}`), wire.CodeMethodNotFound, ""},
	} {
		in(t, hold.Options{}, func(t *testing.T, r *rig) {
			turn := r.beginAs(owner(), c.capabilities, func(ctx context.Context, out exchange.Stream) exchange.Reply {
				c.ask(ctx, out)
				return text(c.ask(ctx, out))
			})
			code, _ := wire.ErrorCode(turn.Reply.Result)
			if code != c.code || strings.Join(turn.Refused, " ") != c.refused || turn.ID != "" {
				t.Errorf("%s: %d %v %s", c.capabilities, code, turn.Refused, turn.Reply.Result)
			}
			if c.refused == "" { // nobody could be asked that
				r.at(0)
			} else { // two turns
				r.at(30 * ms)
			}
		})
	}
}

// A server that gives up when one of its questions is refused must not do so
// before the others are on their way.
func TestRefusalsWaitForTheOtherQuestions(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.beginAs(owner(), `{"sampling":{}}`, func(ctx context.Context, out exchange.Stream) exchange.Reply {
			gaveUp := make(chan exchange.Reply, 2)
			go func() { gaveUp <- out.Ask(ctx, wire.MethodRootsList, nil) }()
			go func() { gaveUp <- out.Ask(ctx, wire.MethodSampling, []byte(`{}`)) }()
			return <-gaveUp
		})
		if len(turn.Questions) != 1 || turn.Questions[0].Method != wire.MethodSampling || strings.Join(turn.Refused, " ") != "roots" {
			t.Errorf("%+v", turn)
		}
	})
}

func TestRefusedIsBounded(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			for i := range 100 {
				out.Ask(ctx, "elicitation/create", []byte(`{"mode":"`+strings.Repeat("x", i)+`"}`))
			}
			return text("done")
		})
		if len(turn.Refused) != 16 {
			t.Error(len(turn.Refused), turn.Refused)
		}
	})
}

// TestARetryWithFewerCapabilities: each request says what its client can do
// (2026-07-28), and only that may be asked of it.
func TestARetryWithFewerCapabilities(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		var roots, later string
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			done := make(chan struct{})
			go func() {
				defer close(done)
				roots = string(out.Ask(ctx, "roots/list", nil).Error)
				later = string(out.Ask(ctx, "sampling/createMessage", []byte(`{}`)).Error)
			}()
			a := elicit(ctx, out, "a")
			<-done
			return text(a)
		})
		if len(turn.Questions) != 2 {
			t.Fatal(asked(turn))
		}
		resume := func(a answers) hold.Turn {
			next, err := r.table.Resume(t.Context(), owner(), turn.ID, turn.Round, []byte(`{"elicitation":{}}`), a.of, nil)
			if err != nil {
				t.Fatal(err)
			}
			return next
		}
		turn = resume(answers{})
		if got := asked(turn); len(turn.Questions) != 1 || !strings.Contains(got, "elicitation/create") || strings.Join(turn.Refused, " ") != "roots sampling" {
			t.Fatal(got, turn.Refused)
		}
		turn = resume(answers{turn.Questions[0].Key: `{}`})
		if string(turn.Reply.Result) != `{}` || strings.Join(turn.Refused, " ") != "roots sampling" || message(roots) == "" || message(later) == "" {
			t.Errorf("%+v %s %s", turn, roots, later)
		}
	})
}

func TestNotificationsGoToTheTurnThatIsOn(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		do := func(ctx context.Context, out exchange.Stream) exchange.Reply {
			out.Notify("notifications/progress", []byte(`1`))
			out.Notify("notifications/elicitation/complete", []byte(`{}`))
			done := make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(time.Second)
				out.Notify("notifications/progress", []byte(`2`)) // between turns
			}()
			elicit(ctx, out, "a")
			<-done
			for _, method := range []string{
				"notifications/message", "notifications/tasks/status", "notifications/tools/list_changed", "notifications/prompts/list_changed",
				"notifications/resources/list_changed", "notifications/resources/updated", "notifications/roots/list_changed", "notifications/cancelled",
				"notifications/initialized", "notifications/subscriptions/acknowledged", "vendor/note",
			} {
				out.Notify(method, []byte(`3`))
			}
			go func() {
				time.Sleep(time.Second)
				out.Notify("notifications/progress", []byte(`4`)) // after the end
			}()
			return text("done")
		}
		first, second := &notes{}, &notes{}
		turn, err := r.table.Begin(t.Context(), owner(), []byte(all), first, do)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if turn, err = r.table.Resume(t.Context(), owner(), turn.ID, 1, []byte(all), answers{"q1": `{}`}.of, second); err != nil || turn.Reply.Result == nil {
			t.Fatal(turn, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := first.String(); got != "notifications/progress1" {
			t.Error(got)
		}
		if got := second.String(); got != "notifications/message3 vendor/note3" {
			t.Error(got)
		}
	})
}
