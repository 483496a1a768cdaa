package policy

import (
	"context"

	"durward"
)

// Runner runs plugins. It is declared here and implemented elsewhere with plain
// types, so that neither side imports the other. It is called by many goroutines.
//
// What is to run: with nil names, the plugins that are configured to run on every
// event; otherwise exactly those named, once each, because preprocess or
// postprocess rules that matched asked for them, whether or not they run on every
// event besides. An unknown name is an error. A plugin changes what the next one sees.
//
// What comes back is a Decision of which these are read:
//
//   - Action: Allow, or Block (in Preprocess also Ask). A plugin can only make the outcome stricter.
//   - Reason and Cause: of an Action that is not Allow, for the operator; Cause is plugin,
//     or evaluation where the plugin could not look at the whole value.
//   - Changed: the whole params (Preprocess) or the whole result (Postprocess) as it
//     is to go on, made by splicing what came; nil when nothing is changed.
//   - Recorded: the same as it is to be written down, when that is another one than
//     what goes on; nil otherwise.
//   - Matches: one for each plugin that found or did something, in order, with Stage
//     (preprocess, postprocess), Rule "plugin:NAME", Action (observe, redact, block),
//     Effective, Detection and a Detail that is safe to keep. Layer is filled in by the
//     engine, and so is Rule where a rule asked for the plugin.
//
// Labels are what the session is marked with from now on (untrusted-content), at
// most 64 characters of [a-z0-9._-] each. An error blocks the call with cause
// evaluation, so a plugin that may fail without harm must not return one.
type Runner interface {
	// Preprocess looks at a call before request rules do. call.Params and
	// call.Arguments are raw JSON and must not be changed.
	Preprocess(ctx context.Context, call *durward.Call, names []string) (d durward.Decision, labels []string, err error)
	// Postprocess looks at a result before response rules do. Score is how much
	// it looks like an attempt to instruct the model, from 0 to 1; rules see it as
	// mcp.result.injection_score. Negative: nobody computed it.
	Postprocess(ctx context.Context, call *durward.Call, result []byte, names []string) (d durward.Decision, labels []string, score float64, err error)
}
