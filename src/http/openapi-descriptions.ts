/**
 * @module Descriptions of all parameters and members of the API. A name means the same everywhere; an exception has an entry `<parent member>.<name>`. Filters
 * of events are described by the table of audit fields instead.
 */
type Texts = Readonly<Record<string, string>>

export const PARAMETERS: Texts = {
  actor: 'Only events written by this actor.',
  approval: 'Id of the approval, a UUID, as the refused claim names it.',
  after: 'Goes on behind this event: an id that a tail sent, or `nextCursor`.',
  agent: 'Only runs that this agent took part in.',
  asOf: "The answer as it was when the tenant's log had so many events: a count, and the same answer for ever.",
  by: 'What is summed by: `run` (the default), `agent`, `model`, `day`, `month` or `tenant`.',
  call: 'Id of the call, a UUID, as its claim was answered.',
  digest:
    'Digest of a large value, as `argsRef` or `resultRef` of a call, `inputRef` or `outputRef` of this run has it: `sha256:` and 64 hex digits.',
  code: 'Stable code of a problem, such as `not-found`.',
  compensation:
    'Only runs whose last rollback ended so: `COMPENSATED`, `PARTLY_COMPENSATED`, `COMPENSATION_FAILED` or `IN_DOUBT`.',
  due: 'With `true`: only open runs that a worker may carry on now, in the order in which they became due; goes with `name` or `names`, `versions`, `perTenant`, `cursor` and `limit`, and with `Prefer: wait=20` waits for one.',
  cursor: 'Where the next page begins: `nextCursor` of the page before, with the same other parameters.',
  equalTo: 'Id of an open call: it and the open calls with its tool and its arguments are listed.',
  event: 'Id of the event, a UUID.',
  fork: 'Id of the fork, a UUID.',
  format: 'Format of the lines: `jsonl` (the default), `csv`, `cloudevents`, `cloudevents-batch`, `ocsf` or `otlp`.',
  from: 'First revision of the answer, from 0.',
  index: 'Index of the leaf in the log, from 0, in place of `event`.',
  contains:
    'Only runs with this text, in any case, in their id, name, tags or agents, or in the name of who started them or for whom.',
  inDoubt: 'Only runs with a call in doubt; takes `true`.',
  limit: 'Items of a page, 1 to 500; default 100.',
  name: 'Only runs of this name.',
  names: 'Beside `due`: only runs of these names, a JSON array of 1 to 64 texts.',
  offset: 'Bytes of the export that the caller has already: with `cursor`, the rest is sent.',
  order: '`asc`: oldest first, the default; `desc`: newest first.',
  overdue: 'Only runs with an open call whose lease is over, and no event says so yet; takes `true`.',
  query: 'Name of an auditors’ query, such as `rejections`: each has its filters at `/v1/audit/<query>`.',
  reservation: 'Id of the reservation, a UUID.',
  hold: 'Id of the hold, as `GET /v1/holds` names it.',
  subject: 'Whose values: as a rule of redaction finds it, or `run:` and the id of a run.',
  signal: 'Name of the signal, as the wait for it says it.',
  revision: 'As it was at this revision of the run, from 0.',
  run: 'Id of the run.',
  seed: 'Root hash of a checkpoint, so that neither side picks: the same seed draws the same runs.',
  since: 'Only runs started at this time or later; RFC 3339.',
  size: 'Size of the log that the proof is for, in events; default: that of the last checkpoint.',
  status: 'Only runs with this status: `open`, `completed`, `failed` or `compensated`.',
  step: 'As it was after this accepted handoff; 0 is the start.',
  tag: 'Only runs with this tag.',
  tile: 'Path of a tile below its log, as C2SP tlog-tiles has it, such as `0/000`.',
  to: 'Last revision of the answer.',
  type: 'Only events of this type, such as `EnvelopeRejected`.',
  until: 'Only runs started before this time; RFC 3339.',
  versions:
    'Beside `due`: only runs whose first worker had one of these versions or none, a JSON array of up to 64 texts; absent: all.',
  wait: 'Id of the wait, a UUID, as its start was answered.',
  perTenant: 'Beside `due`: nothing is due while workers carry so many runs of the tenant.',
  stuck: 'With `true`: only open runs that the code of their last worker could not carry on.',
  waiting: 'With `true`: only runs that wait for a decision, a signal or a time.',
  'consistency.from': 'Size of the smaller tree, in events, 1 or more: RFC 6962 defines no proof from 0.',
  'consistency.to': 'Size of the larger tree, in events.',
  'answers.format':
    '`jsonl` (the default) or `csv`: rows under a signed trailer. `bundle`: a tar with the rows and the events that they follow from, so that a verifier makes each row again; it takes no `order`.',
  'export.from':
    "Only the tenant's events from this leaf of its log on, from 0: `to` of the trailer before, so that nothing is missing and nothing comes twice. Goes with no filter.",
}

export const MEMBERS: Texts = {
  aborted: 'The branch was given up, and why.',
  absolute: 'Largest difference, in the unit of the number itself.',
  agent:
    'Name of the agent that it is about, or in whose name it is done; where it may be left out, the default is the writer.',
  agents: 'Limits of single agents, by name; costs are in the currency of the run.',
  approval: 'The approval that the caller means to use, or to decide: refused where it is none for exactly this call.',
  approve:
    'That people have to say yes before the call runs, and which; the claim, the run and the manifest each add theirs.',
  'runs.after':
    'Records the run without carrying it: a worker may take it from this time on (RFC 3339), at once if it is past. A run that exists is left as it is.',
  because: '`waiting`: for a decision, a signal or a time. `stuck`: its code cannot carry it on.',
  args: 'Arguments of the call, as JSON: they are recorded and are part of its identity.',
  argsDigest: 'Digest of the arguments that are decided on, as the approval shows it: a decision on others is refused.',
  atStep: 'The accepted handoff of that run to branch behind; 0 is the start.',
  base: 'What the policy changes: `default`, or `relay`.',
  body: 'Body of the command, as its own route takes it.',
  branch: 'Name of the branch in its fork.',
  branchOf: 'Starts from the context that another run had established at a step; both streams name the other run.',
  valueMaxBytes:
    'Of canonical JSON: a larger argument, result, input or output is refused by this ledger (`value-too-large`).',
  branches: 'Branches of the fork; each has a name and a scope of its own.',
  budget: 'Hard limits of the run: what would go over is refused with `budget-exceeded` before it runs.',
  cacheWriteTokens: "Input tokens that were written to the provider's cache; part of `inputTokens`.",
  cachedInputTokens: "Input tokens that were read from the provider's cache; part of `inputTokens`.",
  call: 'Id of the call that a command of a batch is about.',
  after:
    'The call began to run before it was claimed: the number of events of the run up to the last outcome that its code had been given when it asked.',
  callId: 'Id of the call that used it; in a claim, the id for a call that the run does not have yet.',
  claimFirst: 'Every call is claimed before it runs, also one that changes nothing.',
  gap: 'Calls that were let through while the ledger could not record them.',
  definitions: 'What the tools behind the entrance say that they are, where that is another thing than before.',
  entrance:
    'Which entrance reports it: `mcp`, the proxy in front of an MCP server; `hook`, the hook of a coding agent.',
  server: 'What is behind the entrance, by the word of its owner.',
  'gap.from': 'When the first of the calls was let through, by the clock of the entrance; RFC 3339.',
  'gap.to': 'When the last of the calls was let through; RFC 3339.',
  'gap.count': 'How many calls were let through.',
  'definitions.digest': 'SHA-256 over JCS of all definitions in the order of their names: `sha256:` and 64 hex digits.',
  'definitions.count': 'How many definitions there are.',
  'definitions.outcome': '`shown`, or `refused`: they are not those that were pinned, and were not shown.',
  'tools.digest': 'Digest of this definition alone.',
  'childOf.callId': 'Id of the call.',
  'childOf.fence': 'Number of its latest claim.',
  childOf:
    'The call of another run that this run is the work of: it is resumed and undone with that. Both streams name the other run.',
  code: 'Stable code of the failure, for programs.',
  comment: 'Why, in words, at most 4,096 characters; it is recorded.',
  compensate: 'How the call is undone: by a tool, not at all (`none`), or that there is nothing to undo.',
  compensateFailed: 'Undo the call as well where it failed: it may have left something.',
  compensateUnknown: 'Undo the call as well where it is not known whether it was executed.',
  cost: 'Money, as a decimal string such as `"0.25"`; to nine decimals.',
  'budget.cost': 'Most money that the run may spend.',
  criticalKeys: 'Top-level keys that must not vanish from the context.',
  currency: 'Currency of the cost: three letters, as ISO 4217 has them.',
  declare: 'Whether agents may declare places that move: `reasoned` (the default) or `none`.',
  decision: '`confirmed`: the values stay. `rejected`: the run goes back to before the first of them.',
  deadlineMs:
    'Milliseconds after which a reservation that was not settled counts as spent, as an estimate; default 600,000.',
  detail: 'What was wrong with this request, for people.',
  details: 'Further members of the failure, as JSON.',
  effects: '`none`: the call changes nothing outside of the run, and does not wait while a suspect is open.',
  enforce:
    'Whether anything is refused: `refuse` (the default), or `record`, where each finding that would refuse says so.',
  error: 'The failure, where it failed.',
  estimated: 'The figures are an estimate: the provider did not say.',
  'evidence.moves': 'Places that its answers may move, with what lies below (JSON Pointers); no others.',
  'evidence.tool': 'Name of the tool.',
  'evidence.untrusted': 'Its answers ground what is new; they move and contradict nothing.',
  'policy.evidence': 'Tools whose answers are not trusted, or move certain places alone.',
  evidence: 'What shows how the call ended, as JSON; it is recorded.',
  expression: 'Condition over `before` and `after`; it refuses where it is false, and never where it is unknown.',
  fence: 'Number of the claim that this settles or renews: refused where a newer claim exists.',
  findings: 'What the judge objects to, each with its place and why; at most 20.',
  fork: 'Id of the fork that a command of a batch is about.',
  free: 'Top-level keys that may change freely, beside those of work in progress, whose texts may.',
  freeOnly: 'Top-level keys that may change freely, instead of those of work in progress.',
  group: 'Calls of one group run side by side, and are undone side by side.',
  id: 'Id of the run; a second start of the same id, name and input resumes it. Default: a new UUID.',
  immutable: 'Places that do not change, superseded or not (JSON Pointers).',
  input: 'Input of the run, as JSON: part of the evidence that handoffs are judged by.',
  inputTokens: 'Tokens of input, the cached part included.',
  instance: 'Path of the request.',
  invariants: 'Conditions that hold after every handoff.',
  items: 'Commands, 1 to 256, carried out in order.',
  join: 'How branches are joined: `union`, `first_wins` or `vote`.',
  judge:
    "What a judge's verdict does to the next handoff: `warn` (the default) or `reject`; it is recorded in any case.",
  'judgements.judge': 'Name of the judge.',
  jwk: 'Public key (Ed25519 or P-256) that the agent signs its envelopes with, as a JWK.',
  key: "The caller's own identity of the call: the same key in a run gets the recorded outcome. For a compensation, the id of the call it undoes.",
  'lists.key': 'Members by which the members of the list are known.',
  left: 'Its own process leaves it as it is, to the process that resumes the run.',
  leftStanding: 'Of a compensation that succeeded: some of what the call did remains, and will not be undone.',
  leaseMs: 'Milliseconds that the claim lasts without being renewed, 100 to 600,000; default 60,000.',
  limit: 'Most money that may be spent, as a decimal string.',
  lists: 'What lists are: `set`, `bag`, `sequence`, or known by key members, by their place.',
  manifestHash: 'Digest of the manifest that the agent works under, as its registration was answered.',
  maxTokens: 'Most tokens of what the agent is shown, and of what it hands over.',
  message: 'What failed, for people.',
  preset:
    'Frameworks whose bookkeeping moves: langgraph, openai-agents, ai-sdk, crewai, autogen; their rows are recorded among `moves`.',
  overshoot:
    'Tokens of a handoff that would pass a limit of the budget: recorded as overshoot (record), or the handoff is refused (refuse).',
  minConfidence: 'Refuses a handoff that keeps a smaller share of what was established, 0 to 1.',
  mode: 'How the payload meets the context: `replace` (the default), `merge` (RFC 7396) or `extend`.',
  model: 'Name of the model.',
  monotonic: 'Numbers that may move one way, `up` or `down`, by their place.',
  moves:
    'Places that move, each with its kind. Beside a handoff: what its agent declares, each with its reason, at most 64. In a policy: a tenant whose policy has them speaks alone.',
  'moves.as':
    'How the place moves: counter, clock, gauge, cursor, done, state, log, derived, text or free; state and free are for policies.',
  'moves.by':
    'Of a gauge the place that has to change with it (JSON Pointer); of a derived place the name of an invariant.',
  'moves.order': 'The words of a state, the first one first.',
  'moves.path': 'The place (JSON Pointer; `*` is any key or list member).',
  'moves.reason': 'Why, for people.',
  name: 'Name of the run, for people and filters.',
  'branches.name': 'Name of the branch, unique in the fork.',
  'invariants.name': 'Name of the condition, which its finding bears.',
  never: 'Places that cannot be superseded (JSON Pointers).',
  occurrence: 'How many equal ones came before it at this place of the code, from 0.',
  onDiscard: 'What becomes of the calls of a branch that is not merged: `compensate` (the default) or `keep`.',
  onUnknown:
    'What an expired claim means: the call may be made again (`retry`), or is in doubt (`in-doubt`, the default).',
  op: 'Kind of the command, such as `envelope`, `claim` or `settle`.',
  outcome:
    'How the call in doubt ended: `executed`, `not-executed` or `compensated`. In a claim: how a call without effects ended that ran already; both are one append.',
  output: 'Output of the run, as JSON.',
  'branches.output': 'What the branch hands over.',
  outputTokens: 'Tokens of output, reasoning included.',
  owner: 'The process that carries the call out, where its death can be proved.',
  parent: 'Digest of the event whose context this builds on; refused where that is no longer the established one.',
  parentCall: 'Id of the call in which this one is made.',
  path: 'Place (JSON Pointer); it covers what lies below.',
  add: 'More of what the context holds then: members of its lists, whatever the mode.',
  payload: 'What the agent hands over: a JSON object.',
  phase: '`forward` (the default), `compensation` or `model`.',
  pointer: 'Place in the request that is at fault (JSON Pointer).',
  policy:
    'Policy that handoffs are judged by: `default`, `relay`, or one with changes. Of a manifest: adds to that of the run.',
  promptDigest: 'Digest of what the judge was asked.',
  protect: 'Top-level keys that stay established; `*` for all but the free ones.',
  prose: 'Top-level keys of which the texts may change freely, instead of those of work in progress.',
  provider: "Name of the model's provider.",
  reads: 'Top-level keys of the context that the agent may see; absent: all.',
  reason: 'Why, for people; it is recorded.',
  reasonMinChars: 'Fewest characters of a reason to supersede.',
  refused: 'Something that the branch needed was refused to it: its budget, a handoff.',
  relative: 'Largest difference, as a share of the established number.',
  requireSignature: 'Refuse an envelope of the agent without a signature.',
  reservation: 'Id of the reservation that a command of a batch is about.',
  reserve: 'Taken from the budget before the call runs, and settled with what it used.',
  restated: 'What a value said again with another value is: `off`, `warn`, `reject` or `sure` (the default).',
  retryAfterMs: 'Milliseconds for which no worker takes the run, unless something comes for it: up to 86,400,000.',
  result: 'What the tool answered, as JSON; `null` where it returns nothing.',
  selfApproval: 'The requester may approve as well; default: another person has to.',
  'approve.roles': 'Only tokens with one of these roles count; absent: all that may decide.',
  traceparent: 'W3C Trace Context of a command of a batch, recorded with it; default: the one of the request.',
  tools: 'Names of the tools that the rule is about; absent: all.',
  when: 'Condition over the arguments, such as `args.amount > 1000`: the call is free only where it says no; absent: never.',
  quorum: 'How many different people have to say yes, 1 to 16; default 1.',
  onDenied: 'What a denial is to the run: an `error` that its code deals with (the default), or its `rollback`.',
  expiresMs: 'Milliseconds within which it has to be decided and used; default seven days.',
  roles: 'Agents that may supersede; absent: all.',
  rules: 'The rule set, 2: there is no other one.',
  run: 'Id of the run.',
  runFence: 'Number of the life of the run that asks: refused where a later one has begun.',
  schema: "JSON Schema (2020-12) of the agent's payloads.",
  scope: "Place in the run's code, as names with slashes between; default: the run itself.",
  signal: 'Name of the signal that a command of a batch sends.',
  redaction:
    'What is left out of the record before anything is decided or sealed: rules, each with a name of a-z and -.',
  at: 'Places in the body of an event, as JSON Pointers in which `*` is one token and `**` any number: what lies there or below.',
  find: 'What is found in texts, and left out of them.',
  pattern:
    'A regular expression (ECMAScript, flag `u`, no look-around, no back-references): a text that it occurs in is left out whole.',
  comparable: 'The marker carries a keyed digest, so that equal values of a run are seen to be equal; takes `true`.',
  keep: 'What is named is encrypted under the key of its subject instead of dropped, until that key is destroyed.',
  'keep.subject':
    'Whose value it is: JSON Pointer to a text or number in the request, or in a value of it; `run`, and where nothing is there: the run.',
  signals:
    'What becomes of a signal that no wait is there for: `hold` it for one to come (the default), or `refuse` it.',
  forMs: 'The end of the wait in milliseconds from its start, in place of `until`.',
  until: 'When the wait is over in any case; RFC 3339. Absent: as long as it takes.',
  'waits.name': 'Name of the signal that ends the wait; absent: only time ends it.',
  'waits.schema': 'JSON Schema (2020-12) that the payload of the signal has to fit.',
  'signals.payload': 'What the signal says: any JSON value of at most 64 KiB; default null.',
  score: 'Score of the branch in a vote; the highest wins.',
  signature: "The agent's own signature over the envelope: a detached JWS (RFC 7515).",
  status: 'HTTP status.',
  step: 'The accepted handoff that is judged, from 1.',
  suspect:
    'What becomes of a change that nothing explains and nothing is certain of: `record` (the default) accepts it with a warning, `hold` lets calls with effects wait for a person as well, `refuse` refuses it.',
  suspects: 'Ids of open suspects, such as `3.1`: all of them are decided, or none.',
  supersede: 'Who may supersede, how well founded, and what never.',
  supersedes: 'What may change though it was established, each with its reason; at most 256.',
  tags: 'Tags of the run, at most 64, to find it by.',
  task: 'What the agent is for, in words.',
  title: 'What kind of problem it is, for people.',
  toStep: 'The accepted handoff to go back to; default: the one before the one established now.',
  tokens: 'Count of tokens.',
  tolerance: 'How far numbers may move without being changed, by their place.',
  tool: 'Name of the tool.',
  type: 'URI of the kind of problem; it leads to a page that says what to do.',
  ungrounded: 'What a value is that nothing recorded holds: `off`, `warn` (the default) or `reject`.',
  unknown: 'The outcome is not known, such as after a time-out: the call is in doubt.',
  unrecorded: 'The tool ran, and its result could not be recorded.',
  answered: 'The caller was told that the result is too large, and the run goes on; else the run goes back.',
  record: '`digest`: of the result only its digest, size and type are recorded.',
  usage: 'What was used.',
  verdict: 'What the judge says of the handoff: `accept`, `reject` or `unavailable`.',
  whenOwned:
    'What a resume does about leases that run and whose owner is not known to be gone: `wait` (the default), `refuse` or `take-over`.',
  willRetry: 'A failed compensation that the caller will try again: it ends nothing yet.',
  worker:
    'Carries on the run of this id as it is recorded, if `fence` is still its latest: of several workers, one gets it. Of the other members, only `name` and `whenOwned` count; `after`, `branchOf` and `childOf` are refused. Takes a token that reads bodies as well.',
  'worker.fence': 'Number of the latest life of the run, as the list of what is due has it.',
  'worker.holdMs':
    'Milliseconds for which other workers leave the run alone after each of its events, 1,000 to 3,600,000.',
  'worker.perTenant':
    'Only if workers carry fewer other runs of the tenant now; else 409 `workers-full`. 1 to 100,000.',
  'worker.version': "Version of the worker's code: 1 to 64 letters, digits, and `. _ + -`.",
  writes: 'Top-level keys that the agent may change; absent: all.',
}

interface Node {
  description?: string | undefined
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly additionalProperties?: Node | boolean
  readonly anyOf?: readonly Node[]
  readonly oneOf?: readonly Node[]
  readonly allOf?: readonly Node[]
}

export interface Parameter extends Node {
  readonly name: string
  readonly schema?: Node
}

/** Describes members that have no description yet; `above` is the name of the parent member, or the last segment of the path. */
export function describeMembers(node: Node | undefined, above: string, texts = MEMBERS): void {
  if (node === undefined) return
  for (const [name, member] of Object.entries(node.properties ?? {})) {
    member.description ??= texts[`${above}.${name}`] ?? texts[name]
    describeMembers(member, name, texts)
  }
  const inner = [
    node.items,
    node.additionalProperties,
    ...(node.anyOf ?? []),
    ...(node.oneOf ?? []),
    ...(node.allOf ?? []),
  ]
  for (const each of inner) if (typeof each === 'object') describeMembers(each, above, texts)
}

export function describeParameter(parameter: Parameter, above: string): void {
  const { name, schema } = parameter
  parameter.description ??= schema?.description ?? PARAMETERS[`${above}.${name}`] ?? PARAMETERS[name]
}
