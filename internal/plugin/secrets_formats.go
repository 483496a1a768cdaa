package plugin

// format is a kind of credential that begins with a text of its own.
type format struct {
	kind   string
	owner  string // who gives such credentials, for the reference
	starts []string
	set    charset // what follows
	min    int     // so many at least
	max    int     // and at most; 0: as many as there are
	level  Level
}

// formats are the credentials that are recognised by how they begin. Where one
// start begins with another, the first in the list that fits is taken.
func formats() []format { //nolint:funlen // a table
	return []format{
		// Clouds.
		{"aws-access-key", "AWS", []string{"AKIA", "ASIA", "ABIA", "ACCA"}, upperBase32, 16, 16, LevelHigh},
		{"aws-bedrock-key", "AWS", []string{"ABSK"}, base64Std, 100, 280, LevelHigh},
		{"gcp-api-key", "Google", []string{"AIza"}, base64URL, 35, 35, LevelHigh},
		{"gcp-oauth-token", "Google", []string{"ya29."}, base64URL, 30, 0, LevelHigh},
		{"gcp-client-secret", "Google", []string{"GOCSPX-"}, base64URL, 28, 28, LevelHigh},
		{"alibaba-access-key", "Alibaba Cloud", []string{"LTAI"}, alnum, 16, 26, LevelHigh},
		{"digitalocean-token", "DigitalOcean", []string{"dop_v1_", "doo_v1_", "dor_v1_"}, lowerHex, 64, 64, LevelHigh},
		{"heroku-key", "Heroku", []string{"HRKU-AA"}, base64URL, 56, 60, LevelHigh},
		{"fly-token", "Fly.io", []string{"fo1_", "fm1r_", "fm1a_", "fm2_"}, opaque, 43, 0, LevelHigh},
		{"netlify-token", "Netlify", []string{"nfp_", "nfc_", "nfo_", "nfu_"}, alnum, 36, 36, LevelHigh},
		{"vercel-token", "Vercel", []string{"vcp_", "vci_", "vca_", "vcr_", "vck_"}, alnum, 24, 64, LevelHigh},
		{"cloudflare-ca-key", "Cloudflare", []string{"v1.0-"}, base64URL, 140, 200, LevelHigh},
		{"databricks-token", "Databricks", []string{"dapi"}, lowerHex, 32, 32, LevelHigh},
		{"supabase-key", "Supabase", []string{"sbp_", "sb_secret_"}, base64URL, 31, 60, LevelHigh},
		{"planetscale-token", "PlanetScale", []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, opaque, 32, 64, LevelHigh},

		// Code and packages.
		{"github-token", "GitHub", []string{"github_pat_"}, word, 82, 0, LevelHigh},
		{"github-token", "GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, opaque, 36, 0, LevelHigh},
		{
			"gitlab-token", "GitLab", []string{
				"glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "glwt-",
			}, opaque, 20, 0, LevelHigh,
		},
		{"bitbucket-token", "Atlassian", []string{"ATBB"}, alnum, 28, 36, LevelHigh},
		{"atlassian-token", "Atlassian", []string{"ATATT3", "ATCTT3"}, opaque, 60, 0, LevelHigh},
		{"npm-token", "npm", []string{"npm_"}, alnum, 36, 36, LevelHigh},
		{"pypi-token", "PyPI", []string{"pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"}, base64URL, 50, 0, LevelHigh},
		{"rubygems-key", "RubyGems", []string{"rubygems_"}, lowerHex, 48, 48, LevelHigh},
		{"nuget-key", "NuGet", []string{"oy2"}, alnum, 43, 43, LevelHigh},
		{"docker-token", "Docker", []string{"dckr_pat_", "dckr_oat_"}, base64URL, 27, 36, LevelHigh},
		{"clojars-token", "Clojars", []string{"CLOJARS_"}, alnum, 60, 60, LevelHigh},
		{"circleci-token", "CircleCI", []string{"CCIPAT_", "CCIPRJ_"}, word, 40, 80, LevelHigh},
		{"buildkite-token", "Buildkite", []string{"bkua_"}, lowerHex, 40, 40, LevelHigh},
		{"sourcegraph-token", "Sourcegraph", []string{"sgp_"}, word, 40, 80, LevelHigh},

		// Models.
		{"anthropic-key", "Anthropic", []string{"sk-ant-"}, base64URL, 40, 0, LevelHigh},
		{"openai-key", "OpenAI", []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"}, base64URL, 40, 0, LevelHigh},
		{"openrouter-key", "OpenRouter", []string{"sk-or-v1-"}, lowerHex, 64, 64, LevelHigh},
		{"openai-key", "OpenAI and others of its form", []string{"sk-"}, alnum, 32, 64, LevelHigh},
		{"groq-key", "Groq", []string{"gsk_"}, alnum, 52, 52, LevelHigh},
		{"xai-key", "xAI", []string{"xai-"}, alnum, 80, 80, LevelHigh},
		{"perplexity-key", "Perplexity", []string{"pplx-"}, alnum, 48, 48, LevelHigh},
		{"huggingface-token", "Hugging Face", []string{"hf_", "api_org_"}, alnum, 34, 34, LevelHigh},
		{"replicate-token", "Replicate", []string{"r8_"}, alnum, 37, 37, LevelHigh},
		{"tavily-key", "Tavily", []string{"tvly-"}, base64URL, 32, 60, LevelHigh},

		// Talking and paying.
		{"slack-token", "Slack", []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-", "xoxc-", "xoxd-", "xapp-", "xwfp-"}, opaque, 20, 0, LevelHigh},
		{"slack-webhook", "Slack", []string{"hooks.slack.com/services/T", "hooks.slack.com/workflows/T", "hooks.slack.com/triggers/T"}, base64Std, 30, 0, LevelHigh},
		{"discord-webhook", "Discord", []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, opaque, 60, 0, LevelHigh},
		{"teams-webhook", "Microsoft", []string{"webhook.office.com/webhookb2/"}, opaque, 60, 0, LevelHigh},
		{"stripe-key", "Stripe", []string{"sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_org_live_"}, alnum, 16, 0, LevelHigh},
		{"stripe-webhook-secret", "Stripe", []string{"whsec_"}, base64Std, 32, 0, LevelHigh},
		{"square-token", "Square", []string{"sq0atp-", "sq0csp-"}, base64URL, 22, 60, LevelHigh},
		{"shopify-token", "Shopify", []string{"shpat_", "shpca_", "shppa_", "shpss_"}, alnum, 32, 32, LevelHigh},
		{"twilio-key", "Twilio", []string{"SK"}, lowerHex, 32, 32, LevelMedium},
		{"sendgrid-key", "SendGrid", []string{"SG."}, opaque, 60, 80, LevelHigh},
		{"mailgun-key", "Mailgun", []string{"key-"}, lowerHex, 32, 32, LevelHigh},
		{"brevo-key", "Brevo", []string{"xkeysib-", "xsmtpsib-"}, base64URL, 64, 100, LevelHigh},

		// Work.
		{"linear-key", "Linear", []string{"lin_api_", "lin_oauth_"}, alnum, 40, 64, LevelHigh},
		{"notion-token", "Notion", []string{"ntn_"}, alnum, 40, 60, LevelHigh},
		{"notion-token", "Notion", []string{"secret_"}, alnum, 43, 43, LevelHigh},
		{"figma-token", "Figma", []string{"figd_", "figo_"}, base64URL, 36, 80, LevelHigh},
		{"postman-key", "Postman", []string{"PMAK-"}, base64URL, 50, 64, LevelHigh},
		{"dropbox-token", "Dropbox", []string{"sl.u.", "sl.B"}, base64URL, 100, 0, LevelHigh},
		{"typeform-token", "Typeform", []string{"tfp_"}, opaque, 40, 64, LevelHigh},
		{"contentful-token", "Contentful", []string{"CFPAT-"}, base64URL, 43, 43, LevelHigh},

		// Running things.
		{"grafana-token", "Grafana", []string{"glsa_", "glc_"}, opaque, 40, 0, LevelHigh},
		{"newrelic-key", "New Relic", []string{"NRAK-", "NRJS-", "NRIQ-"}, alnum, 19, 32, LevelHigh},
		{"sentry-token", "Sentry", []string{"sntrys_", "sntryu_"}, opaque, 60, 0, LevelHigh},
		{"dynatrace-token", "Dynatrace", []string{"dt0c01.", "dt0s01."}, opaque, 80, 100, LevelHigh},
		{"doppler-token", "Doppler", []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa."}, opaque, 40, 64, LevelHigh},
		{"vault-token", "HashiCorp", []string{"hvs.", "hvb.", "hvr."}, base64URL, 24, 0, LevelHigh},
		{"pulumi-token", "Pulumi", []string{"pul-"}, lowerHex, 40, 40, LevelHigh},
		{"prefect-key", "Prefect", []string{"pnu_", "pnb_"}, alnum, 36, 36, LevelHigh},
		{"tailscale-key", "Tailscale", []string{"tskey-"}, base64URL, 20, 0, LevelHigh},
		{"1password-token", "1Password", []string{"ops_eyJ"}, opaque, 100, 0, LevelCritical},
		{"age-key", "age", []string{"AGE-SECRET-KEY-1"}, alnum, 58, 58, LevelCritical},
		{"mapbox-token", "Mapbox", []string{"sk.eyJ"}, opaque, 60, 0, LevelHigh},
	}
}

// pattern is a kind of credential that is recognised by a word, and then by what
// stands around it.
type pattern struct {
	kind  string
	about string // what is looked for, for the reference
	words []string
	level Level
	match func(s *secretScan, word, end int) (from, to int) // to <= from: it is none
}

func patterns() []pattern {
	return []pattern{
		{"private-key", "PEM blocks with PRIVATE KEY in their label (RSA, EC, OpenSSH, PGP, PKCS #8, so also those of GCP service accounts), to their end", []string{"-----BEGIN "}, LevelCritical, matchPEM},
		{"private-key", "PuTTY key files", []string{"PuTTY-User-Key-File-"}, LevelCritical, matchPuTTY},
		{"jwt", "signed and encrypted JSON Web Tokens: three or five parts, the first of which decodes to a JOSE header", []string{"eyJ"}, LevelMedium, matchJWT},
		{"azure-storage-key", "AccountKey= and SharedAccessKey= of connection strings", []string{"AccountKey=", "SharedAccessKey="}, LevelHigh, matchAzureKey},
		{"azure-sas", "signatures of shared access (sig= in URLs that also have sv= or se=)", []string{"sig="}, LevelHigh, matchSAS},
		{"azure-client-secret", "secrets of Entra applications (with Q~ in fourth place)", []string{"Q~"}, LevelHigh, matchEntra},
		{"azure-key", "keys that carry a mark of Azure (AzFu, AzSe, AzCa, ACDb, AStz, +ASt, +AMC, AZDO, JQQJ99)", []string{"AzFu", "AzSe", "AzCa", "ACDb", "+ASt", "+AMC", "AZDO", "JQQJ99"}, LevelHigh, matchAzureMark},
		{"telegram-token", "tokens of Telegram bots", []string{":AA"}, LevelHigh, matchTelegram},
		{"mailchimp-key", "Mailchimp", []string{"-us"}, LevelHigh, matchMailchimp},
		{"terraform-token", "tokens of HCP Terraform", []string{".atlasv1."}, LevelHigh, matchTerraform},
		{"bearer-token", "what follows Bearer in a header", []string{"bearer "}, LevelMedium, matchBearer},
		{"basic-auth", "what follows Basic, if it decodes to user:password", []string{"basic "}, LevelHigh, matchBasic},
		{"url-password", "passwords in URLs", []string{"://"}, LevelHigh, matchURL},
	}
}
