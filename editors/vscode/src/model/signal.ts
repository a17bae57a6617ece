/** An event, in the shape that VS Code has, for modules that do not know VS Code. */

export interface Subscription {
  dispose(): void;
}

export type Listen<T> = (listener: (value: T) => void) => Subscription;

export class Signal<T> {
  private readonly listeners = new Set<{ readonly call: (value: T) => void }>();

  readonly listen: Listen<T> = (listener) => {
    const one = { call: listener };
    this.listeners.add(one);
    return { dispose: () => void this.listeners.delete(one) };
  };

  fire(value: T): void {
    for (const { call } of [...this.listeners]) {
      call(value);
    }
  }
}
