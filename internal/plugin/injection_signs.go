package plugin

// sign is a group of words that tell of an attempt to instruct the model.
type sign struct {
	group signGroup
	words []string
}

type signGroup uint8

const (
	signDrop      signGroup = iota // to do away with; what follows is looked at word by word
	signDropOther                  // the same in other languages
	signBefore                     // that it came before, or all of it, in other languages
	signOrders                     // what is done away with, in other languages
	signRole                       // marks of who speaks
	signTool                       // marks of calls of tools and of their results
	signAddress                    // who is spoken to
	signDemand                     // what is demanded of it
	signNewTask                    // that it has a new task
	signSecrecy                    // that the user is not to know
	signSend                       // to send
	signPrecious                   // what is worth to be sent
	signTarget                     // where to
	signLink                       // a link that may carry data
	signUnseen                     // text that a person does not see
	signJailbreak
	signGroups
)

func signs() []sign {
	return []sign{
		{signDrop, []string{"ignore ", "disregard ", "forget ", "override ", "bypass ", "do not follow ", "don't follow ", "stop following "}},
		{signDropOther, []string{
			"ignoriere", "vergiss", "missachte", "ignorez", "oubliez", "oublie ", "ignora ", "olvida", "ignore as ", "ignore todas", "esqueça", "dimentica",
			"忽略", "无视", "無視", "忘记", "忘れ", "игнорируй", "забудь", "تجاهل", "انس ", "अनदेखा", "नज़रअंदाज़", "भूल जा", "무시",
		}},
		{signBefore, []string{
			"alle ", "alles", "vorherig", "vorher", "bisherig", "obig", "précédent", "ci-dessus", "toutes", "anterior", "todas", "todos", "acima", "precedenti", "tutte", "之前", "以上", "所有", "先前", "前面",
			"以前", "これまで", "上記", "すべて", "предыдущ", "все ", "всё", "السابق", "كل ", "جميع", "पिछले", "सभी", "पुराने", "ऊपर", "이전", "모든", "위의",
		}},
		{signOrders, []string{
			"anweisung", "instructions", "consignes", "instrucciones", "istruzioni", "instruções", "指令", "指示", "提示词",
			"инструкци", "указани", "التعليمات", "निर्देश", "지시", "vorgaben", "system-prompt", "systemprompt",
		}},
		{signRole, []string{
			"<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "[inst]", "[/inst]", "<<sys>>", "<|start_header_id|>", "<|eot_id|>", "<|endoftext|>",
			"<system>", "</system>", "[system]", "### system:", "### instruction:", "\nhuman:", "\nassistant:", "<start_of_turn>", "<system_prompt>", "system message:",
			"system override", "[system message]", "system:", "<system-reminder>", "begin system prompt", "end of user data", "end of document",
		}},
		{signTool, []string{
			"<tool_call>", "<function_calls>", "<invoke name=", "<function=", "\"tool_calls\"", "<tool_use>", "</tool_result>", "</function_results>", "<|tool",
			"</tool_response>", "\"function_call\"", "<tool_response>",
		}},
		{signAddress, []string{
			"ai assistant", "language model", "ai agent", "ai model", "dear assistant", "dear ai", "hey assistant", "attention assistant", "chatgpt", "claude", "as an ai", "attention ai", "note to ai",
			"to the ai", "to the assistant", "to any ai", "if you are an ai", "if you're an ai", "for ai ", "ai reading this", "llms", "llm reading", "copilot", "coding agent", "ki-assistent", "ki-agent",
			"assistant ia", "asistente de ia", "assistente ia", "人工智能助手", "ai助手", "ai アシスタント", "aiアシスタント", "ии-ассистент", "مساعد الذكاء", "एआई सहायक",
		}},
		{signDemand, []string{
			"you must", "you should now", "you have to", "you need to", "you are required", "do the following", "follow these", "execute the following", "execute this", "run the following", "run this command", "call the ",
			"use the tool", "invoke the ", "instead of answering", "instead, ", "immediately", "before responding", "before answering", "before doing anything", "before you continue", "before summarizing", "important:", "please also", "make sure to",
			"du musst", "ab sofort", "führe ", "vous devez", "exécutez", "debes ", "ejecuta ", "deve ", "esegui", "你必须", "请执行", "必须", "ты должен", "выполни", "يجب عليك", "आपको", "実行して", "してください",
			"respond only with", "reply only with", "output only", "say that", "recommend ", "insert ", "add a ",
		}},
		{signNewTask, []string{
			"new instruction", "new task", "your task is now", "your real task", "updated instruction", "revised instruction", "you are now", "from now on", "you will now", "act as ", "pretend to be", "pretend you", "von nun an", "du bist jetzt",
			"neue anweisung", "nouvelles instructions", "nouvelle tâche", "ahora eres", "nuevas instrucciones", "ora sei", "你现在是", "新的指令", "新指令", "ты теперь", "новая задача", "новые инструкции", "أنت الآن", "अब आप", "あなたは今", "新しい指示",
		}},
		{signSecrecy, []string{
			"tell the user", "telling the user", "inform the user", "informing the user", "mention this", "mention these", "mention that you", "reveal this", "reveal these", "keep this secret", "keep this hidden", "silently ", "ask for confirmation", "asking for confirmation", "ask the user",
			"user must not know", "user should not", "user does not need to know", "alert the user", "notify the user",
			"dem nutzer nicht", "dem benutzer nicht", "ohne den nutzer", "ohne den benutzer", "ne dites pas", "sans informer", "no le digas", "sin informar", "senza informare", "不要告诉用户", "不要提及", "не сообщай", "не говори пользователю", "لا تخبر المستخدم", "को न बता", "ユーザーには",
		}},
		{signSend, []string{
			"send ", "post ", "upload", "forward ", "exfiltrate", "transmit", "leak ", "email ", "append ", "encode ", "curl ", "wget ", "make a request", "submit ", "share ", "copy ", "navigate to", "open the url", "fetch ",
			"sende ", "schicke", "envoyez", "envoie", "envía", "envia ", "invia ", "发送", "上传", "送信", "отправь", "أرسل", "भेज",
		}},
		{signPrecious, []string{
			"api key", "api_key", "apikey", "password", "credential", "secret", "private key", "ssh key", "id_rsa", ".env", "environment variable", "conversation history", "chat history", "this conversation", "entire conversation",
			"previous messages", "system prompt", "access token", "/etc/passwd", "session token", "user's data", "personal data", "seed phrase", "wallet", "all files", "user's email", "user's name", "inbox",
			"passwort", "zugangsdaten", "mot de passe", "contraseña", "密码", "密钥", "对话", "パスワード", "пароль", "ключ", "كلمة المرور", "पासवर्ड",
		}},
		{signTarget, []string{"http://", "https://", "mailto:", "webhook", "attacker", "ngrok", "requestbin", "pastebin", "collaborator", "@"}},
		{signLink, []string{"](http"}},
		{signUnseen, []string{"display:none", "display: none", "font-size:0", "font-size: 0", "font-size:1px", "color:white", "color: white", "color:#fff", "color: #fff", "opacity:0", "opacity: 0", "visibility:hidden", "visibility: hidden", "<!--", "[//]: #", "[comment]: <>"}},
		{signJailbreak, []string{"developer mode", "jailbreak", "dan mode", "do anything now", "no restrictions", "without restrictions", "unrestricted mode", "god mode", "no longer bound", "no ethical"}},
	}
}
