/** @module The troubles that a protocol node can be told to make. */
import { setTimeout as sleep } from 'node:timers/promises'

export type AppendFault =
  /** Answers UNAVAILABLE for the whole call: on the batching path that fails everything in flight. Nothing is written. */
  | 'unavailable'
  /** Answers this one append as a node does that is starting. Nothing is written. */
  | 'not-ready'
  /** Never answers, and writes nothing. */
  | 'lose-request'
  /** Writes, and never answers. */
  | 'lose-answer'
  /** Cuts every connection, before or after it writes. */
  | 'cut'
  | 'write-and-cut'

export interface AppendSeen {
  /** By the sender's clock, where the batching path told one. */
  readonly deadline: Date | undefined
  readonly stream: string
  readonly ids: readonly string[]
  /** 1 for the node's first append. */
  readonly count: number
}

export type ReadFault =
  | 'unavailable'
  /** The reader is too slow for the server's buffer, or so the server finds. */
  | 'too-slow'
  /** What the server's log reader says to a place between two records. */
  | 'unknown'
  /** What a client makes of a call whose connection broke off before its end. */
  | 'internal'
  /** Ends the call in order, before any event. */
  | 'ended'

export interface ReadSeen {
  /** A subscription reads on for ever; the store looks backwards for ends. */
  readonly kind: 'subscription' | 'forwards' | 'backwards'
}

export class Faults {
  /** Asked at each append. */
  onAppend: (append: AppendSeen) => AppendFault | undefined = () => undefined
  /** Asked at each read and subscription. */
  onRead: (read: ReadSeen) => ReadFault | undefined = () => undefined
  /** Every request waits this long. */
  delayMs = 0
  #frozen: Promise<void> | undefined
  #thaw: () => void = () => undefined

  /** Connections stay, answers stop, until `thaw`. */
  freeze(): void {
    this.#frozen ??= new Promise((resolve) => {
      this.#thaw = resolve
    })
  }

  thaw(): void {
    this.#frozen = undefined
    this.#thaw()
  }

  /** What every request passes first. */
  async pass(): Promise<void> {
    if (this.#frozen !== undefined) await this.#frozen
    if (this.delayMs > 0) await sleep(this.delayMs)
  }

  clear(): void {
    this.onAppend = () => undefined
    this.onRead = () => undefined
    this.delayMs = 0
    this.thaw()
  }
}
