// Pages that take their time: a report, a comparison. They are shown in a sandbox, with scripts of their own.
class MadePage {
  constructor(state, frame, title) {
    [this.state, this.frame, this.title] = [get(state), get(frame), title];
    this.key = null;
  }
  async show(asked) {
    const key = new URLSearchParams(asked).toString();
    if (this.key === key) return;
    this.key = key;
    this.frame.replaceChildren();
    try {
      for (;;) {
        const made = await ask('made?' + key);
        if (this.key !== key) return;
        if (made.is === 'ready') break;
        if (made.is === 'failed') throw new Error(made.why);
        this.state.textContent = `making it: ${made.step} …`;
      }
      this.state.replaceChildren(make('a', { href: 'made.html?' + key, target: '_blank', rel: 'noreferrer' }, `${this.title} on a separate page`));
      this.frame.replaceChildren(make('iframe', { src: 'made.html?' + key, title: this.title, sandbox: 'allow-scripts' }));
    } catch (error) {
      if (this.key !== key) return;
      this.state.textContent = error.message;
      // Asked again when it is looked at again.
      this.key = null;
    }
  }
  forget() { this.key = null; }
}
