package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"durward/client"
)

// completeWithin bounds a completion: a shell waits for it.
const completeWithin = 2 * time.Second

// completed asks a service that runs for completions; without one there are none.
func completed(ctx context.Context, ask func(context.Context, *client.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	service, err := serviceAPI()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := ask(ctx, service)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// itemNames completes names of what is offered.
func itemNames(list func(*client.Client, context.Context, client.Filter) ([]client.Item, error)) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
			items, err := list(c, ctx, client.Filter{})
			var names []string
			for i := range items {
				names = append(names, items[i].Name+"\t"+description(&items[i], 60))
			}
			return names, err
		})
	}
}
