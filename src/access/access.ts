/**
 * @module What a route or a page demands of its caller: the declaration that the API, the pages, the OpenAPI document and the tests of roles
 * all read. Each route and page must name one, or does not compile.
 */
import type { Scope } from '../signing/tokens.ts'

export interface TokenAccess {
  /** Any of them is enough. */
  readonly scopes: readonly [Scope, ...Scope[]]
  /** Tells of all agents of a run or of the tenant: a token bound to one agent is refused. */
  readonly allAgents?: true
  /** The run is named in the body, or by the code behind it: that is checked against the token's run there, not in the path. */
  readonly runNamedBehind?: true
  /** A token bound to a run or to an agent needs this scope, whatever others it has. */
  readonly scopeIfBound?: Scope
  /** Gives bodies: what agents handed over, called tools with and got back. Read by a scope of the run's own it is counted, by whom and how often. */
  readonly payloads?: true
  /** What lies behind puts the read on record itself, or it is one that nobody needs on record. */
  readonly recordedBehind?: true
}

/** `open`: needs no token. */
export type Access = 'open' | TokenAccess

/** A run's own state and history. */
export const READ_RUNS = { scopes: ['runs:read', 'audit:read'] } as const satisfies TokenAccess
/** What is in the bodies of its events. A `runs:read` gives it as well where the settings say so. */
export const READ_PAYLOADS = { scopes: ['payloads:read', 'audit:read'], payloads: true } as const satisfies TokenAccess
/** Bodies of several runs, each checked against the token's run by the code behind it. */
export const READ_OWN_PAYLOADS = { ...READ_PAYLOADS, runNamedBehind: true } as const satisfies TokenAccess
/** Each row or answer is checked against the token's run by the code behind it. */
export const READ_OWN_RUNS = { ...READ_RUNS, runNamedBehind: true } as const satisfies TokenAccess
export const WRITE_RUNS = { scopes: ['runs:write'] } as const satisfies TokenAccess
/** Commands that name their run in the body. */
export const WRITE_NAMED_RUNS = { ...WRITE_RUNS, runNamedBehind: true } as const satisfies TokenAccess
/** What agents may do: not to be set by a token that is bound to the run or to one of its agents. */
export const SET_MANIFESTS = {
  scopes: ['runs:admin', 'runs:write'],
  scopeIfBound: 'runs:admin',
} as const satisfies TokenAccess
/** What waits for a decision, with the arguments: whoever decides has to see them. */
export const READ_APPROVALS = {
  scopes: ['approvals:write', 'payloads:read', 'audit:read'],
  payloads: true,
} as const satisfies TokenAccess
export const READ_ALL_APPROVALS = { ...READ_APPROVALS, allAgents: true } as const satisfies TokenAccess
/** A person's yes or no: an agent's token has none. */
export const DECIDE_APPROVALS = { scopes: ['approvals:write'], allAgents: true } as const satisfies TokenAccess
/** What comes from outside the run: a token that is bound to it, as its agents' are, does not send it unless it says so. */
export const SEND_SIGNALS = {
  scopes: ['signals:write', 'runs:write'],
  allAgents: true,
  scopeIfBound: 'signals:write',
} as const satisfies TokenAccess
/** The tenant's whole history. */
export const READ_TENANT = { scopes: ['audit:read'], allAgents: true } as const satisfies TokenAccess
/** The auditors' index records each question with its answer; hashes and proofs are meant to be shared. */
export const READ_TENANT_RECORDED_BEHIND = { ...READ_TENANT, recordedBehind: true } as const satisfies TokenAccess
/** What leaves the ledger is on record as an export. */
export const EXPORT = { scopes: ['audit:export'], allAgents: true, recordedBehind: true } as const satisfies TokenAccess
/** The API's own answers under the token of a session: it judges and records each of them. */
export const DOWNLOAD = {
  scopes: ['runs:read', 'audit:read', 'audit:export'],
  runNamedBehind: true,
  recordedBehind: true,
} as const satisfies TokenAccess
export const DISCLOSE_KEYS = { scopes: ['admin'], allAgents: true } as const satisfies TokenAccess
/** Where a person's data are, and that they be forgotten. */
export const ERASE_SUBJECTS = { scopes: ['subjects:erase'], allAgents: true } as const satisfies TokenAccess
/** That a loss be acknowledged as one for good. */
export const ACKNOWLEDGE_LOSSES = { scopes: ['admin'], allAgents: true } as const satisfies TokenAccess
/** Counters of the whole server, of all tenants together. */
export const METRICS = { scopes: ['metrics:read', 'admin'] } as const satisfies TokenAccess
