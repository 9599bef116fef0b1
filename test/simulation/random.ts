// A small generator of pseudo-random numbers (mulberry32): one seed, one sequence, on every machine.
import { must } from "../../shared/assert.ts";

export class Random {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds are to begin differently.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  }

  /** An integer from 0 to `below` − 1. */
  int(below: number): number {
    return Math.floor(this.#next() * below);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return must(from[this.int(from.length)], "there is something to pick from");
  }

  /** One of the names, each as likely as its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights);
    let left = this.#next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const name of namesOf(weights)) {
      left -= weights[name];
      if (left < 0) return name;
    }
    throw new Error("the weights are all zero");
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}

function namesOf<Name extends string>(weights: Readonly<Record<Name, number>>): Name[] {
  const isName = (text: string): text is Name => Object.hasOwn(weights, text);
  return Object.keys(weights).filter(isName);
}
