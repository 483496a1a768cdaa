// Person is who sits behind a client: it answers what the client is asked, and
// remembers every question. Its answers say who gave them and to what, so that an
// answer in the wrong place shows.

import { setTimeout as delay } from 'node:timers/promises';

export class Person {
  asked = [];
  // declines makes the person say no.
  declines = false;

  constructor(name) {
    this.name = name;
  }

  // reply is the answer of this person to a question.
  reply(question) {
    return `${this.name}<${question}>`;
  }

  capabilities() {
    return { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
  }

  // attach makes the client ask this person.
  attach(client) {
    client.setRequestHandler('elicitation/create', ({ params }) => this.#elicit(params));
    client.setRequestHandler('sampling/createMessage', ({ params }) => this.#sample(params));
    client.setRequestHandler('roots/list', () => {
      this.asked.push({ kind: 'roots', text: '' });
      return { roots: this.roots() };
    });
  }

  roots() {
    return [{ uri: `file:///home/${this.name}`, name: this.name }];
  }

  #elicit(params) {
    const kind = params.mode === 'url' ? 'url' : 'form';
    this.asked.push({ kind, text: kind === 'url' ? `${params.message} ${params.url}` : params.message });
    if (this.declines) return { action: 'decline' };
    if (kind === 'url') return { action: 'accept' };
    const [wanted] = params.requestedSchema.required;
    return { action: 'accept', content: { [wanted]: this.reply(params.message) } };
  }

  #sample(params) {
    const text = [params.messages[0].content].flat()[0].text;
    this.asked.push({ kind: 'sampling', text });
    return { model: `model-of-${this.name}`, role: 'assistant', content: { type: 'text', text: this.reply(text) } };
  }

  questions(kind, part) {
    return this.asked.filter((a) => a.kind === kind && a.text.includes(part));
  }

  // wasAsked waits until a question came.
  async wasAsked(kind, part) {
    for (let i = 0; i < 3_000; i++) {
      if (this.questions(kind, part).length > 0) return;
      await delay(20);
    }
    throw new Error(`${this.name} was not asked (${kind}) about ${part}; asked was ${JSON.stringify(this.asked)}`);
  }

  // interview is what the tool of that name must have learned from this person.
  interview(who) {
    const colour = this.reply(`${who}: your colour?`);
    const line = this.reply(`${who}: a line about ${colour}`);
    return { who, colour, line, keep: this.reply(`${who}: keep ${line}?`) };
  }
}
