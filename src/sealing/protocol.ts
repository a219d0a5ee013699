/** @module What the thread that has the sockets and the store, and the threads that decide and seal, say to each other. Each message carries what came up in one turn. */
import type { RunCommand } from '../domain/run-command.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { Caller, Found, Outcome, RequestInfo } from '../ledger/ledger.ts'
import type { RunQueries } from '../ledger/read/queries.ts'
import type { Work } from '../resources/fair-shares.ts'
import type { ShareName } from '../resources/memory-budget.ts'
import type { AppendResult, StoreStatus } from '../store/event-store.ts'
import type { FoldRow } from '../store/view-store.ts'
import type { SentAppends } from './sent-appends.ts'

/** A caller as it passes from thread to thread: `isPaced` stands for its pace. */
export type SentCaller = Omit<Caller, 'pace'> & { readonly isPaced?: true }

export interface SentCommand {
  readonly command: RunCommand
  readonly info: RequestInfo
}

/** What a thread does for one run of its own. */
export type Task =
  | ({ readonly what: 'execute' } & SentCommand)
  | { readonly what: 'in-order'; readonly items: readonly SentCommand[] }
  | { readonly what: 'query'; readonly name: keyof RunQueries; readonly args: readonly unknown[] }

export interface Job {
  readonly id: number
  readonly caller: SentCaller
  readonly runId: string
  readonly task: Task
}

/** Of a task of each kind, in this order. */
export type Done = Outcome | readonly Outcome[] | Found<unknown>

/** `failure`: broken machinery, in words. */
export type Answer = { readonly id: number; readonly done: Done } | { readonly id: number; readonly failure: string }

/** An append that the store takes for an error of its caller. */
export interface RefusedAppend {
  readonly kind: 'error'
  readonly message: string
}

export type ToSealer =
  | { readonly kind: 'jobs'; readonly jobs: readonly Job[] }
  /** What became of the appends of a group, in its order. */
  | { readonly kind: 'appended'; readonly id: number; readonly results: readonly (AppendResult | RefusedAppend)[] }
  /** Always before the results of appends that this is about. */
  | { readonly kind: 'store'; readonly epoch: number; readonly status: StoreStatus }
  /** The key that seals from now on. */
  | { readonly kind: 'key'; readonly kid: string }
  /** The file of views was rebuilt. */
  | { readonly kind: 'views-renewed' }
  | { readonly kind: 'end' }

export interface SealerState {
  readonly heapBytes: number
  readonly hotRuns: number
  readonly usedBytes: Partial<Record<ShareName, number>>
}

export type FromSealer =
  /** It takes jobs once it knows how the store is. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'open-failed'; readonly message: string }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }
  /** `epoch`: of the store, as this thread last heard of it. */
  | { readonly kind: 'append'; readonly epoch: number; readonly appends: SentAppends }
  | { readonly kind: 'save-fold'; readonly row: FoldRow }
  /** The file of views was found damaged. */
  | { readonly kind: 'renew-views'; readonly reason: string }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'worked'; readonly work: Work }
  | { readonly kind: 'fault'; readonly fault: SealFault }
  | { readonly kind: 'state'; readonly state: SealerState }
