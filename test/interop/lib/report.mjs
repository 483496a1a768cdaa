// One line of JSON per check on stdout is the whole protocol between a script and
// the Go driver: {"name", "ok", "error"?} or {"name", "skipped": reason}.

const checkLimit = 30_000;

export class Report {
  #label;
  #without;

  // without maps names of checks to the reason why they are not made.
  constructor(label, without = {}) {
    this.#label = label;
    this.#without = without;
  }

  // check runs one named piece of checking; what it throws is the failure.
  async check(name, fn) {
    if (this.#without[name]) {
      this.#print({ name: `${this.#label}/${name}`, skipped: this.#without[name] });
      return false;
    }
    const line = { name: `${this.#label}/${name}`, ok: true };
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
