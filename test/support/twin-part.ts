/** @module What a part of a twin's program has at hand: the world around it, tools of its own, and a log. */
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { seen } from './twin-programs.ts'

/** One thing that a program does, and what is drawn of it. */
export interface Does {
  readonly kind: string
  /** Which of its ways. */
  readonly which: number
  readonly gives: unknown
  /** Characters of what is large in it. */
  readonly chars: number
}

/** The outer world: it knows the keys of what was done in it, and in which order that was. */
export class Outside {
  readonly #done: string[] = []
  readonly #undone = new Set<string>()
  readonly #met = new Set<string>()

  /** Gives which deed it is, from 1. */
  act(): number {
    const key = currentCall()?.idempotencyKey ?? ''
    if (!this.has(key)) this.#done.push(key)
    return this.#done.indexOf(key) + 1
  }

  has(key: string): boolean {
    return this.#done.includes(key)
  }

  undo(): void {
    this.#undone.add(currentCall()?.idempotencyKey ?? '')
  }

  /** Whether it is the first time that `what` is met. */
  isFirst(what: string): boolean {
    const { size } = this.#met
    return this.#met.add(what).size > size
  }

  get effects(): string {
    return `${this.#done.length} done, ${this.#undone.size} undone`
  }
}

export type Tool = (...args: readonly unknown[]) => Promise<unknown>

/** What the code of one part has at hand. */
export interface Part extends Does {
  readonly cs: Countersign<unknown>
  readonly i: number
  readonly world: Outside
  readonly see: (what: string, value: unknown) => void
  /** A tool of the part's own; it may be repeated, and has nothing to undo, unless `options` say otherwise. */
  readonly tool: (name: string, fn: (...args: never[]) => unknown, options?: object) => Tool
  /** That much text. */
  readonly text: (what: string) => string
}

export type PartOf = (part: Part) => (run: Run<unknown>) => Promise<void>

/** By the part's number, so that the same program goes the same way in each life. */
export const chosen = <T>(from: readonly T[], which: number): T => from[which % from.length] as T

export const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => seen(error))
