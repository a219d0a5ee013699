/** @module The meaning and the remedy of each problem: the pages that the `type` of every problem links to. */
import type { ProblemCode } from '../../schemas/error-code.ts'

export interface ProblemText {
  readonly title: string
  /** Advice on how to fix the problem. */
  readonly remedy: string
}

const text = (title: string, remedy: string): ProblemText => ({ title, remedy })

export const PROBLEM_TEXTS: Readonly<Record<ProblemCode, ProblemText>> = {
  'run-not-found': text(
    'No such run',
    "Check the run id and the tenant of your token; another tenant's runs look like this too.",
  ),
  'run-exists': text('The run exists', 'Choose another id, or start with the same name and input to resume the run.'),
  'run-ended': text(
    'The run has ended',
    'Start another run; settles of calls that were open at the end are still taken, until the keys of the run are disclosed.',
  ),
  'run-taken-over': text(
    'Another owner resumed the run',
    'Stop this owner; it may settle its open calls and nothing else.',
  ),
  'run-owned': text(
    'Another process may own the run',
    'Wait for its leases to end, or resume with `whenOwned: "take-over"` once you know that it is gone: calls that it may be carrying out are then in doubt.',
  ),
  contradiction: text(
    'The handoff contradicts what was established',
    'Read `findings`, build on `restored`, and declare what you mean to change in `supersedes`.',
  ),
  'stale-parent': text(
    'The handoff builds on an older one',
    'Read the context, build on that, sign again where you sign, and post again.',
  ),
  'parent-required': text(
    'A signed envelope needs its parent',
    'Set `parent` to the digest of the event you build on, and sign it.',
  ),
  'signature-invalid': text(
    'The signature does not hold',
    'Sign the canonical envelope with the key that is registered for the agent.',
  ),
  'signature-reused': text('The signature was used before', 'Sign each envelope again.'),
  'manifest-mismatch': text(
    'Another manifest is registered',
    'Read the manifests and send the hash of the one in force, or register yours.',
  ),
  'policy-invalid': text(
    'The policy cannot be used',
    'Mend each place in `errors` (docs/judgement.md lists the members); nothing was started or registered.',
  ),
  'redacted-name': text(
    'A name holds what the policy leaves out',
    'Use a name that says nothing of it; nothing was recorded.',
  ),
  'keep-unavailable': text(
    'Nothing can be kept encrypted here',
    'Use a store in a file (SQLite), or rules of redaction without `keep`; nothing was recorded.',
  ),
  held: text(
    'A legal hold covers this',
    'Nothing was erased. `hold` names the hold: who placed it can release it (`countersign holds release`), then ask again.',
  ),
  'retention-floor': text(
    'A class of retention still keeps this',
    'Nothing was erased. `class`, `run` and `until` say what keeps it and how long; ask again then.',
  ),
  'archive-missing': text(
    'The archive with this run is not there',
    'Put the file that `detail` names back into the folder of the archives, beside the store; nothing is damaged. Then ask again.',
  ),
  'archive-unavailable': text(
    'This ledger archives nothing',
    'Archives need a store in a file (SQLite); export runs from any other store. Nothing was changed.',
  ),
  'holds-full': text(
    'Too many legal holds are active',
    'Release those that have ended, or place one on the whole tenant; nothing was recorded.',
  ),
  'hold-not-found': text('No such hold', '`GET /v1/holds` names the holds of the tenant.'),
  'subject-unknown': text(
    'Nothing is kept of this subject',
    'Its name is the one that the rules of redaction find. Hold the run or the tenant instead; nothing was recorded.',
  ),
  'redacted-signed': text(
    'A signed handoff holds what the policy leaves out',
    'Leave it out before you sign; nothing was recorded.',
  ),
  'redaction-too-large': text(
    'Too much to look through',
    'Hand over less, in shorter texts, or where it is kept; nothing was recorded.',
  ),
  'result-redacted': text(
    'The result was left out of the record',
    'Get the value elsewhere; the record holds `redacted`, which rule left out what, and never the value.',
  ),
  'manifest-invalid': text('The manifest cannot be used', 'Mend the member that `pointer` names.'),
  'context-too-large': text('The context would outgrow its limit', 'Hand over less, or by reference.'),
  'unknown-step': text('No such step', 'Take one of the steps that lead to the context now.'),
  'nothing-to-roll-back': text('Nothing to roll back', 'There is no accepted step before the one established now.'),
  'fork-open': text(
    'A fork is open',
    'Report its branches and join it: until then nothing else changes the context. `GET /v1/runs/{run}/forks` shows them.',
  ),
  'fork-exists': text(
    'The scope belongs to another fork',
    'Give each branch a scope that no earlier fork of the run has used, or leave the scopes out.',
  ),
  'fork-not-found': text('No such fork', 'Check the fork id; `GET /v1/runs/{run}/forks` lists them.'),
  'branch-not-found': text('No such branch', 'Take one of the names in `branches`.'),
  'branch-received': text('The branch has reported', 'Nothing is to be done: a branch reports once; join the fork.'),
  'fork-joined': text('The fork is joined', 'Read its verdict; what this branch did can only be rolled back.'),
  'fork-conflict': text(
    'The branches contradict each other',
    'Read `conflicts`: both values of each place. The context is unchanged; fork again, by `vote`, or with branches that write apart.',
  ),
  'fork-failed': text(
    'The fork came to nothing',
    'Read `receipts` and `findings`: why no branch was merged. The context is unchanged; fork again or go on without.',
  ),
  'result-not-recorded': text(
    'The result of a call is not recorded',
    'Roll the run back: without that result it cannot be replayed or resumed.',
  ),
  'call-not-found': text('No such call', 'Check the call id; `GET /v1/runs/{run}/calls` lists them.'),
  'call-in-progress': text(
    'Another caller runs this call',
    'Wait for its outcome: ask again after `Retry-After`, or send `Prefer: wait=20`.',
  ),
  'call-in-doubt': text('Whether the call was executed is not known', 'Find out, then resolve the call.'),
  'call-key-reused': text('The key names another call', 'Use a new key for a new call.'),
  'call-not-in-doubt': text('There is no doubt to end', 'Read the call: it has an outcome, or is still running.'),
  'recursive-call': text(
    'A call asks for itself',
    'One of the callers of this call holds the same key: give the inner call another.',
  ),
  compensating: text('A rollback has closed this scope', 'Let the rollback end; nothing new starts in its scope.'),
  'not-compensating': text('No rollback is under way', 'Start one with `POST /v1/runs/{run}/compensations`.'),
  'already-compensated': text('This was rolled back before', 'Read the plan; nothing is left to undo.'),
  'stale-fence': text('The call was claimed again', 'Only the newest claim may settle; drop this outcome.'),
  'already-settled': text('This has an outcome', 'Read it; an outcome is recorded once.'),
  'budget-exceeded': text(
    'The budget does not hold this',
    'Ask for less, release what is reserved, or end the run. Waiting alone mends nothing.',
  ),
  'currency-mismatch': text('Another currency', 'Use the one currency of the run.'),
  'reservation-not-found': text('No such reservation', 'Check the reservation id.'),
  'reservation-ended': text('The reservation has ended', 'Record what was used with `POST /v1/runs/{run}/usage`.'),
  'schema-invalid': text('The JSON Schema does not compile', 'Mend the schema; `detail` says what is wrong with it.'),
  'wait-not-found': text('No such wait', 'Check run and id; `GET /v1/runs/{run}/waits` lists them.'),
  'waits-full': text(
    'The run waits for too much',
    'A run has at most as many open waits as `limit` says: wait for fewer things at once.',
  ),
  'signal-not-awaited': text(
    'No run waits for this signal',
    "The run's policy refuses signals that no wait is there for (`signals: refuse`). Check the name, or send it again once the run waits: `GET /v1/runs/{run}/waits`.",
  ),
  'signal-invalid': text(
    "The payload does not fit the wait's schema",
    'Mend what `faults` names and send it again. The wait goes on.',
  ),
  'signals-full': text(
    'The run holds too many signals',
    'Signals that no wait has taken fill the run: let it take some, or send them to another run.',
  ),
  'workers-full': text(
    'Workers carry as many runs of the tenant as they may',
    'Ask for what is due with the same `perTenant`: `Prefer: wait=20` answers once a run has ended, or is left. Or raise the limit.',
  ),
  'approval-pending': text(
    'The call waits for an approval',
    'Ask again later (`Prefer: wait=20` holds the answer). People who may decide find it at `GET /v1/approvals`, and at `/ui/approvals`.',
  ),
  'approval-denied': text(
    'The approval was denied',
    'The call does not run. What else the run may do is its own business; `comment` says why.',
  ),
  'approval-expired': text(
    'The approval has expired',
    'It was not decided and used by `expiresAt`. The call does not run; another call of the tool asks again.',
  ),
  'suspect-not-found': text('No such suspect', 'Check run and id; `GET /v1/runs/{run}/suspects` lists the open ones.'),
  'suspect-closed': text(
    'There is nothing to review',
    'The suspect was explained, reviewed, or rolled back before: `GET /v1/runs/{run}/suspects` lists what is open, and the history of the run says who closed it.',
  ),
  'self-review': text(
    'Who handed a value over cannot confirm it',
    'Let somebody else confirm it, or reject it; an agent explains it with `supersedes` beside its next handoff.',
  ),
  'approval-not-found': text('No such approval', 'Check run and id; `GET /v1/runs/{run}/approvals` lists them.'),
  'approval-mismatch': text(
    'The approval is for something else',
    'An approval holds for one call with exactly its arguments, tool, agent and key. Read it again and decide on the `argsDigest` that it has, or ask for another one.',
  ),
  'approval-used': text(
    'The approval was used before',
    'One approval, one call: claim without it, and another one is asked for.',
  ),
  'approval-decided': text('There is nothing to decide', 'Read the approval: `status` says how it ended.'),
  'approvals-full': text(
    'Too much waits for a decision',
    'A run has at most as many approvals that wait as `limit` says: have some granted or denied (`GET /v1/runs/{run}/approvals`), then claim again.',
  ),
  'claim-first': text(
    'The call has to be claimed before it runs',
    'Nothing was recorded. Claim the call without `outcome`, run it under that claim, and settle it.',
  ),
  'approval-role-missing': text(
    'Another role decides this',
    'Take a token that has one of the roles in `roles`: the issuer of your tokens gives them.',
  ),
  'self-approval': text(
    'The requester cannot approve',
    'Let somebody else decide, or set `selfApproval` where the approval is demanded.',
  ),
  'open-work': text('Work is open', 'Settle or resolve what is listed, then end the run.'),
  'refusals-exhausted': text('Refused too often', 'Wait, and mend the caller: its refusals are no longer recorded.'),
  'idempotency-key-reused': text(
    'The idempotency key was used for another request',
    'Use a new key for a new request.',
  ),
  'idempotency-in-flight': text('The first request with this key is still under way', 'Ask again in a moment.'),
  'revision-conflict': text(
    'The run has moved on',
    'Read what came between (`conflicting`), then ask with the new revision.',
  ),
  'value-too-large': text(
    'The value is too large for this ledger',
    'Hand over less, or keep it elsewhere and hand over where; `value-max-bytes` is the limit of the ledger.',
  ),
  'value-not-found': text(
    'No such value',
    'Take the digest out of `argsRef` or `resultRef` of a call of this run, or out of its `inputRef` or `outputRef`; with `kept: false` only the digest is recorded.',
  ),
  'append-too-large': text('Too much for one write', 'Send less in one request.'),
  overloaded: text(
    'The server is at its limit of memory or work',
    'Nothing was begun. Ask again after `Retry-After`; a server that says this often needs more memory (`--memory`) or fewer readers at once.',
  ),
  contended: text('Too many writers at once', 'Ask again after `Retry-After`.'),
  'not-attempted': text(
    'Not attempted',
    'An envelope of the same run was refused earlier in the batch; mend that one first.',
  ),
  'store-full': text('The store is full', 'Nothing was written. Make room; no restart is needed.'),
  'store-unavailable': text(
    'The store is not available',
    'Ask again after `Retry-After`; send a write with an idempotency key, so that nothing is recorded twice.',
  ),
  'store-went-back': text(
    'The store went backwards',
    'The store lacks an event that it had acknowledged: nothing is read or written. The operator puts the newer store back and starts it again; the log of the server says which event.',
  ),
  'agent-mismatch': text('The token is bound to another agent', 'Send the agent that the token names.'),
  'run-mismatch': text('The token is bound to one run', 'Ask for that run, or use a token without the bond.'),
  'scope-missing': text('The token lacks a scope', 'Ask for a token with one of the scopes in `required`.'),
  unauthenticated: text('No valid token', 'Send `Authorization: Bearer <token>` with a token that has not expired.'),
  'not-found': text('No such resource', 'Check the path; `/openapi.json` lists every route.'),
  'method-not-allowed': text('The resource does not take this method', 'Use one that `Allow` names.'),
  'malformed-request': text('The request cannot be read', 'Mend its target or its Host header.'),
  'unsupported-media-type': text('Not JSON', 'Send `Content-Type: application/json`, in UTF-8.'),
  'unsupported-content-encoding': text('Compressed bodies are not taken', 'Send the body without Content-Encoding.'),
  'body-missing': text('The body is missing', 'Send a JSON object; `{}` where nothing is to be said.'),
  'body-incomplete': text('The body ended early', 'Send it again.'),
  'body-too-large': text('The body is too large', 'Send at most `limit` bytes.'),
  'invalid-json': text(
    'Not strict JSON',
    'Mend the place that `pointer` and `offset` name. Nothing that comes in is silently altered.',
  ),
  'invalid-body': text(
    'The body does not fit its schema',
    'Mend each place in `errors`; members that are not in the schema are refused.',
  ),
  'invalid-query': text(
    'A query parameter cannot be used',
    'Mend each parameter in `errors`; unknown ones are refused.',
  ),
  'invalid-header': text('A header cannot be used', 'Mend the header that `header` names.'),
  'invalid-cursor': text(
    'Not a cursor of this query',
    'Send a cursor exactly as it was returned, to the query that returned it; or start without one.',
  ),
  'cursor-gone': text(
    'The place of this cursor is gone',
    'The store was copied or restored since: start without a cursor.',
  ),
  'beyond-log': text(
    'The log is shorter than that',
    'Go on from `to` of the last trailer of this very ledger. Where that is more than `treeSize`, the store was restored from an older copy: verify it, and hold what you have against it.',
  ),
  'rate-limited': text('Too many requests', 'Ask again after `Retry-After`.'),
  'too-many-streams': text('Too many open streams', 'End a tail or an export of this tenant, then ask again.'),
  'not-ready': text('Not ready', 'The server is starting, stopping, or its store is not available; ask again.'),
  'index-building': text(
    'An index is being made',
    'It goes on by itself; ask again after `Retry-After`. `progress`, where it is there, says how far it is.',
  ),
  'view-behind': text(
    'What this answer rests on cannot follow the store',
    'Nothing is lost. Make room on the disk of the data folder, or mend it; then ask again.',
  ),
  'stream-damaged': text(
    'The record of the run is damaged',
    'Stop writing, keep a copy of the store, and run `countersign verify`: it names the first bad event.',
  ),
  'log-stopped': text(
    "The tenant's log has stopped",
    'An event is gone, or not the one that was sealed: `losses` names it, as far as that is known. Keep a copy of the store, run `countersign verify`, put the event back; the log then goes on by itself. Only where no copy has it any more, acknowledge the loss (`countersign losses acknowledge`). Runs that are under way are served.',
  ),
  'loss-not-found': text(
    'No such loss',
    'The ledger sees nothing lost in that place now. `GET /v1/losses` names the places; an event that was put back needs no acknowledgement.',
  ),
  'loss-unknown': text(
    'It is not known which event was lost',
    'The log can go on only past events whose place and digest are known. Put the event back from a copy of the store, or `log.db` from one that still has it.',
  ),
  internal: text(
    'The server failed',
    'Nothing that you sent should do this. Report `errorId`; ask again with an idempotency key.',
  ),
}
