/**
 * @module Access requirements of routes and pages, read by the API, the pages, the OpenAPI document and the role tests. Every route and
 * page must declare one; otherwise it does not compile.
 */
import type { Scope } from '../signing/tokens.ts'

export interface TokenAccess {
  /** The caller needs any one of these scopes. */
  readonly scopes: readonly [Scope, ...Scope[]]
  /** The answer covers all agents of a run or of the tenant, so a token that is bound to one agent is refused. */
  readonly allAgents?: true
  /** The run is named in the body or found by the handler, not in the path; the handler checks it against the token's run. */
  readonly runNamedBehind?: true
  /** A token bound to a run or to an agent needs this scope in addition to one of `scopes`. */
  readonly scopeIfBound?: Scope
  /** The answer contains event bodies: handoffs, and arguments and results of tools. Reads under a scope of the run are counted per reader. */
  readonly payloads?: true
  /** The handler records the read itself, or the read needs no record. */
  readonly recordedBehind?: true
}

/** `open`: no token is needed. */
export type Access = 'open' | TokenAccess

/** A run's own state and history. */
export const READ_RUNS = { scopes: ['runs:read', 'audit:read'] } as const satisfies TokenAccess
/** The bodies of a run's events. The scope `runs:read` also grants this if the settings say so. */
export const READ_PAYLOADS = { scopes: ['payloads:read', 'audit:read'], payloads: true } as const satisfies TokenAccess
/** Bodies of several runs; the handler checks each of them against the token's run. */
export const READ_OWN_PAYLOADS = { ...READ_PAYLOADS, runNamedBehind: true } as const satisfies TokenAccess
/** The handler checks each row or answer against the token's run. */
export const READ_OWN_RUNS = { ...READ_RUNS, runNamedBehind: true } as const satisfies TokenAccess
export const WRITE_RUNS = { scopes: ['runs:write'] } as const satisfies TokenAccess
/** Commands that name their run in the body. */
export const WRITE_NAMED_RUNS = { ...WRITE_RUNS, runNamedBehind: true } as const satisfies TokenAccess
/** Sets what agents may do, so a token that is bound to the run or to one of its agents must not set it. */
export const SET_MANIFESTS = {
  scopes: ['runs:admin', 'runs:write'],
  scopeIfBound: 'runs:admin',
} as const satisfies TokenAccess
/** Pending decisions with their arguments, which the person who decides has to see. */
export const READ_APPROVALS = {
  scopes: ['approvals:write', 'payloads:read', 'audit:read'],
  payloads: true,
} as const satisfies TokenAccess
export const READ_ALL_APPROVALS = { ...READ_APPROVALS, allAgents: true } as const satisfies TokenAccess
/** A person's decision; a token of an agent cannot make it. */
export const DECIDE_APPROVALS = { scopes: ['approvals:write'], allAgents: true } as const satisfies TokenAccess
/** Signals come from outside the run, so a token that is bound to the run (as its agents' tokens are) needs `signals:write` to send one. */
export const SEND_SIGNALS = {
  scopes: ['signals:write', 'runs:write'],
  allAgents: true,
  scopeIfBound: 'signals:write',
} as const satisfies TokenAccess
/** The tenant's whole history. */
export const READ_TENANT = { scopes: ['audit:read'], allAgents: true } as const satisfies TokenAccess
/** The auditors' index records each query with its answer; hashes and proofs need no record because they are meant to be shared. */
export const READ_TENANT_RECORDED_BEHIND = { ...READ_TENANT, recordedBehind: true } as const satisfies TokenAccess
/** Data that leave the ledger are recorded as an export. */
export const EXPORT = { scopes: ['audit:export'], allAgents: true, recordedBehind: true } as const satisfies TokenAccess
/** The API's own answers, requested with the token of a session: the API checks and records each of them. */
export const DOWNLOAD = {
  scopes: ['runs:read', 'audit:read', 'audit:export'],
  runNamedBehind: true,
  recordedBehind: true,
} as const satisfies TokenAccess
export const DISCLOSE_KEYS = { scopes: ['admin'], allAgents: true } as const satisfies TokenAccess
/** Finds a person's data and requests their erasure. */
export const ERASE_SUBJECTS = { scopes: ['subjects:erase'], allAgents: true } as const satisfies TokenAccess
/** Places and releases legal holds; separate from `subjects:erase`, so that no one needs both rights. */
export const WRITE_HOLDS = { scopes: ['holds:write'], allAgents: true } as const satisfies TokenAccess
export const READ_HOLDS = {
  scopes: ['holds:write', 'subjects:erase', 'audit:read'],
  allAgents: true,
} as const satisfies TokenAccess
/** Revokes any token of the tenant, of whatever issuer. */
export const REVOKE_TOKENS = { scopes: ['admin'], allAgents: true } as const satisfies TokenAccess
export const READ_REVOKED_TOKENS = { scopes: ['admin', 'audit:read'], allAgents: true } as const satisfies TokenAccess
/** Acknowledges a loss as permanent. */
export const ACKNOWLEDGE_LOSSES = { scopes: ['admin'], allAgents: true } as const satisfies TokenAccess
/** Counters of the whole server, summed over all tenants. */
export const METRICS = { scopes: ['metrics:read', 'admin'] } as const satisfies TokenAccess
