/**
 * @module One budget of memory for everything a process keeps or holds, divided into shares. The shares together are less than the budget: the
 * rest is for what the engine has not collected yet, and for copies on their way between threads and to the disk. And what a JSON value weighs in it.
 */

const MIB = 1024 * 1024

interface Share {
  /** Of the budget. */
  readonly percent: number
  /** More than this is never used, however large the budget. */
  readonly atMostBytes?: number
  readonly about: string
}

/** Every cache, queue and buffer that grows with what callers send. The table in docs/operations.md says the same. */
export const SHARES = {
  'hot-runs': { percent: 16, about: 'recent runs, folded, with the index of their evidence' },
  'bodies-read': { percent: 8, about: 'bodies of requests while they come in' },
  'requests-at-work': { percent: 10, about: 'bodies that are parsed, decided on and sealed' },
  answers: { percent: 8, about: 'answers that are made and not yet taken' },
  streams: { percent: 8, about: 'exports, bundles, replays and tails that are open' },
  'append-queue': { percent: 4, atMostBytes: 64 * MIB, about: 'sealed events on their way to the disk' },
  stories: { percent: 2, about: "the dashboard's folded runs" },
  tokens: { percent: 1, atMostBytes: 16 * MIB, about: 'tokens that were checked' },
  'run-keys': { percent: 1, atMostBytes: 16 * MIB, about: 'keys derived for single runs' },
  rates: { percent: 1, atMostBytes: 8 * MIB, about: 'rates of tenants, token subjects and addresses' },
  values: { percent: 1, atMostBytes: 64 * MIB, about: 'large values that were written or read lately' },
  'audit-index': { percent: 1, atMostBytes: 32 * MIB, about: "what the auditors' index remembers of runs and calls" },
  logs: { percent: 2, atMostBytes: 64 * MIB, about: 'trees, streams and cosignatures of the logs' },
  leases: { percent: 1, atMostBytes: 16 * MIB, about: 'when the leases of calls end' },
  access: { percent: 1, atMostBytes: 16 * MIB, about: 'reads that wait to be put on record' },
  sessions: { percent: 1, atMostBytes: 16 * MIB, about: 'sessions of the dashboard' },
} as const satisfies Record<string, Share>

export type ShareName = keyof typeof SHARES

export const SHARE_NAMES = Object.keys(SHARES) as readonly ShareName[]

/** Where nobody says how much: programs that embed a ledger, and tests. */
const DEFAULT_BUDGET_BYTES = 1024 * MIB

export interface SharedMemory {
  readonly name: ShareName
  readonly limitBytes: number
  readonly usedBytes: number
  /** Times that somebody found it full. */
  readonly refusals: number
}

export class MemoryBudget {
  readonly totalBytes: number
  readonly #accounts = new Map<ShareName, MemoryAccount>()
  readonly #watched: { readonly name: ShareName; readonly usedBytes: () => number }[] = []

  constructor(totalBytes = DEFAULT_BUDGET_BYTES) {
    this.totalBytes = totalBytes
  }

  limitOf(name: ShareName): number {
    const { percent, atMostBytes = Number.POSITIVE_INFINITY }: Share = SHARES[name]
    return Math.min(Math.floor((this.totalBytes * percent) / 100), atMostBytes)
  }

  /** The account of a share: one for all who ask. */
  account(name: ShareName): MemoryAccount {
    const known = this.#accounts.get(name)
    if (known !== undefined) return known
    const account = new MemoryAccount(this.limitOf(name))
    this.#accounts.set(name, account)
    return account
  }

  /** Shows what a cache, which keeps its own count below `limitOf`, uses now. */
  watch(name: ShareName, usedBytes: () => number): void {
    this.#watched.push({ name, usedBytes })
  }

  snapshot(): readonly SharedMemory[] {
    return SHARE_NAMES.map((name) => {
      const account = this.#accounts.get(name)
      const watched = this.#watched.filter((each) => each.name === name)
      const usedBytes = watched.reduce((sum, each) => sum + each.usedBytes(), account?.usedBytes ?? 0)
      return { name, limitBytes: this.limitOf(name), usedBytes, refusals: account?.refusals ?? 0 }
    })
  }
}

/** Gives back what was taken; a second call does nothing. */
export type Release = () => void

interface Waiting {
  readonly bytes: number
  readonly admitted: (release: Release) => void
}

/** One share of the budget: who takes bytes gives them back, and whoever finds it full is refused or waits. */
export class MemoryAccount {
  readonly limitBytes: number
  #usedBytes = 0
  #refusals = 0
  /** What each owner holds; only where an owner is named. */
  readonly #byOwner = new Map<string, number>()
  readonly #waiting: Waiting[] = []

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  get refusals(): number {
    return this.#refusals
  }

  get isFull(): boolean {
    return this.#usedBytes >= this.limitBytes
  }

  /**
   * Takes `bytes`, or nothing: then it is undefined. One `owner` holds at most half of the share, so that no tenant alone can fill it. Whoever
   * holds nothing while nobody else does gets what it asks for, whatever the limit: else some requests could never pass.
   */
  take(bytes: number, owner?: string): Release | undefined {
    const owned = owner === undefined ? 0 : (this.#byOwner.get(owner) ?? 0)
    const fits = this.#fits(bytes) && (owned === 0 || owned + bytes <= this.limitBytes / 2)
    if (!fits) {
      this.#refusals += 1
      return undefined
    }
    return this.#taken(bytes, owner)
  }

  /** The same for who may wait: in turn, as room is returned. What waits must be bounded elsewhere. */
  whenFree(bytes: number): Release | Promise<Release> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) return this.#taken(bytes, undefined)
    return new Promise((admitted) => this.#waiting.push({ bytes, admitted }))
  }

  /** Counts what is there already, whether or not it fits: an answer that was made has to be sent. */
  count(bytes: number): Release {
    return this.#taken(bytes, undefined)
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes === 0 || this.#usedBytes + bytes <= this.limitBytes
  }

  #taken(bytes: number, owner: string | undefined): Release {
    this.#change(bytes, owner)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#change(-bytes, owner)
      this.#admit()
    }
  }

  #change(bytes: number, owner: string | undefined): void {
    this.#usedBytes += bytes
    if (owner === undefined) return
    const owned = (this.#byOwner.get(owner) ?? 0) + bytes
    if (owned === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, owned)
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.admitted(this.#taken(next.bytes, undefined))
    }
  }
}

/** What V8 on 64 bits lays out, rounded up: header, backing store and the slot in the parent. */
const OBJECT_BYTES = 72
const LIST_BYTES = 56
const MEMBER_BYTES = 24
const ELEMENT_BYTES = 8
const NUMBER_BYTES = 16
const STRING_BYTES = 32
/** A string with one character beyond Latin-1 takes two bytes for each. */
const CODE_UNIT_BYTES = 2

/** Keys repeat and are shared between values, but one that occurs once is a string of its own. */
const KEY_BYTES = 40

/** How much memory a JSON value takes once it is parsed: an upper estimate, without making its text. */
export function weigh(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return STRING_BYTES + CODE_UNIT_BYTES * value.length
    case 'number':
      return NUMBER_BYTES
    case 'object':
      return value === null ? 0 : Array.isArray(value) ? weighList(value) : weighObject(value)
    default:
      return 0
  }
}

/** What `weigh` says of `value`, from what it said of the object before it: members that both hold are not walked again. */
export function weighAfter(value: Members, before: Members, beforeBytes: number): number {
  let bytes = beforeBytes
  for (const key in value) if (value[key] !== before[key]) bytes += weighMember(value, key)
  for (const key in before) if (value[key] !== before[key]) bytes -= weighMember(before, key)
  return bytes
}

type Members = Readonly<Record<string, unknown>>

function weighMember(value: Members, key: string): number {
  return MEMBER_BYTES + KEY_BYTES + key.length + weigh(value[key])
}

function weighList(list: readonly unknown[]): number {
  let bytes = LIST_BYTES
  for (const member of list) bytes += ELEMENT_BYTES + weigh(member)
  return bytes
}

function weighObject(value: object): number {
  let bytes = OBJECT_BYTES
  for (const key in value) bytes += weighMember(value as Members, key)
  return bytes
}
