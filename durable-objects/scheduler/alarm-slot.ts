// The only caller of setAlarm and deleteAlarm. Inside a transaction both commit and roll back with it, without an await.

export class AlarmSlot {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Arms for the earliest due time, or disarms. The platform's write cannot be observed failing here; the output gate holds for it. */
  arm(dueAt: number | null): void {
    void (dueAt === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(dueAt));
  }
}
