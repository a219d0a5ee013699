/**
 * @module One budget of memory for everything a process keeps or holds, divided into shares. The shares together are less than the budget: the
 * rest is for what the engine has not collected yet, and for copies on their way between threads and to the disk.
 */
import { MemoryAccount } from './memory-account.ts'

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
  stories: { percent: 3, about: "the dashboard's folded runs" },
  tokens: { percent: 1, atMostBytes: 16 * MIB, about: 'tokens that were checked' },
  'run-keys': { percent: 1, atMostBytes: 16 * MIB, about: 'keys derived for single runs' },
  rates: { percent: 1, atMostBytes: 8 * MIB, about: 'rates of tenants, token subjects and addresses' },
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
    const account = this.#accounts.get(name) ?? new MemoryAccount(this.limitOf(name))
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
