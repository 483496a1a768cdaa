// One line of JSON per check on stdout is the whole protocol between a script and
// the Go driver: {"name", "ok", "error"?} or {"name", "skipped": reason}, and for
// a check that counts in the matrix {"feature", "server"}.

const checkLimit = 90_000;

export class Report {
  #label;
  #without;
  #server;

  // without maps names of checks to the reason why they are not made. With a
  // server the checks are features of it.
  constructor(label, without = {}, server = undefined) {
    this.#label = label;
    this.#without = without;
    this.#server = server;
  }

  // check runs one named piece of checking; what it throws is the failure.
  async check(name, fn) {
    const line = { name: `${this.#label}/${name}` };
    if (this.#server) Object.assign(line, { feature: name, server: this.#server });
    if (this.#without[name]) {
      this.#print({ ...line, skipped: this.#without[name] });
      return false;
    }
    line.ok = true;
    let timer;
    try {
      const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no end within ${checkLimit} ms`)), checkLimit);
      });
      await Promise.race([fn(), late]);
    } catch (error) {
      line.ok = false;
      line.error = String(error?.stack ?? error).split('\n').slice(0, 12).join('\n');
    } finally {
      clearTimeout(timer);
    }
    this.#print(line);
    return line.ok;
  }

  #print(line) {
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}
