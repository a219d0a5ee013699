/**
 * @module One memory budget for everything that a process caches or buffers, divided into shares. The sum of the shares is less than the budget: the rest is
 * for garbage that is not collected yet, and for copies between threads and to the disk. Also estimates the memory of a JSON value.
 */

const MIB = 1024 * 1024

interface Share {
  /** Percentage of the budget. */
  readonly percent: number
  /** Upper limit of the share, however large the budget. */
  readonly atMostBytes?: number
  readonly about: string
}

/** Every cache, queue and buffer that grows with the input of callers. The table in docs/operations.md must match. */
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
  access: { percent: 1, atMostBytes: 16 * MIB, about: 'reads that wait to be recorded' },
  sessions: { percent: 1, atMostBytes: 16 * MIB, about: 'sessions of the dashboard' },
} as const satisfies Record<string, Share>

export type ShareName = keyof typeof SHARES

export const SHARE_NAMES = Object.keys(SHARES) as readonly ShareName[]

/** Default for programs that embed a ledger, and for tests. */
const DEFAULT_BUDGET_BYTES = 1024 * MIB

export interface SharedMemory {
  readonly name: ShareName
  readonly limitBytes: number
  readonly usedBytes: number
  /** How often a request for bytes was refused because the share was full. */
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

  /** The account of a share; every caller gets the same one. */
  account(name: ShareName): MemoryAccount {
    const known = this.#accounts.get(name)
    if (known !== undefined) return known
    const account = new MemoryAccount(this.limitOf(name))
    this.#accounts.set(name, account)
    return account
  }

  /** Reports the current use of a cache that keeps its own count below `limitOf`. */
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

/** Returns the bytes that were taken; a second call has no effect. */
export type Release = () => void

interface Waiting {
  readonly bytes: number
  readonly admitted: (release: Release) => void
}

/** One share of the budget: callers take bytes and return them; when it is full, a caller is refused or waits. */
export class MemoryAccount {
  readonly limitBytes: number
  #usedBytes = 0
  #refusals = 0
  /** Bytes held by each named owner. */
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
   * Takes `bytes`; returns undefined if they do not fit. One `owner` may hold at most half of the share, so that no single tenant can fill it. While the share
   * is unused, any request is granted, whatever the limit: otherwise some requests could never succeed.
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

  /** Like `take`, but waits in order until enough is returned. The caller must bound the number of waiters. */
  whenFree(bytes: number): Release | Promise<Release> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) return this.#taken(bytes, undefined)
    return new Promise((admitted) => this.#waiting.push({ bytes, admitted }))
  }

  /** Counts bytes that already exist, whether or not they fit: an answer that was made has to be sent. */
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

/** Upper estimates of V8's layout on 64 bits: header, backing store and the slot in the parent. */
const OBJECT_BYTES = 72
const LIST_BYTES = 56
const MEMBER_BYTES = 24
const ELEMENT_BYTES = 8
const NUMBER_BYTES = 16
const STRING_BYTES = 32
/** A string with any character beyond Latin-1 takes two bytes per code unit. */
const CODE_UNIT_BYTES = 2

/** Repeated keys are shared between values, but a key that occurs once is a separate string. */
const KEY_BYTES = 40

/** Upper estimate of the memory of a parsed JSON value, computed without serializing it. */
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

/** `weigh(value)`, computed from the weight of a similar object: members that both share by identity are not visited again. */
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
