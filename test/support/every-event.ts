/** @module One sealed store with every event type, the same bytes at every run: bodies in each of the shapes that mean something else. */
import { createHash } from 'node:crypto'
import type { EventBody, EventType } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import {
  accessStream,
  ledgerStream,
  runStream,
  SYSTEM_STREAM,
  SYSTEM_TENANT,
  valueStream,
} from '../../schemas/names.ts'
import type { ResolvedPolicy } from '../../schemas/policy.ts'
import { DEFAULT_CRITICAL_KEYS } from '../../schemas/value-forms.ts'
import { dataDigest } from '../../src/signing/digests.ts'
import { type SealContext, type SealedEvent, sealEvents } from '../../src/signing/seal.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { sealContext, testRing } from '../signing/fixtures.ts'
import { BUDGET_BODIES, CALL_BODIES } from './every-call-event.ts'
import { FORK_BODIES } from './every-fork-event.ts'

export const TENANT = 'acme'
export const RUN = 'every'
const WRITER = '01890a5d-ac96-774b-8cce-00000000aaaa'

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`
const uuid = (n: number): string => `01890a5d-ac96-774b-8cce-${String(n).padStart(12, '0')}`

const finding = {
  rule: 'contradicted',
  severity: 'error',
  path: '/facts/city',
  before: 'Bern',
  after: 'Basel',
  message: '/facts/city was "Bern"',
} as const
const warning = {
  rule: 'ungrounded',
  severity: 'warning',
  path: '/entities/1',
  after: 'Zug',
  message: 'found nowhere',
} as const
const pin = { asOf: '40', treeSize: 40, root: digest('root') }

/** Written out, as the first release recorded it: another default of today changes no store of then. */
const POLICY: ResolvedPolicy = {
  base: 'default',
  criticalKeys: DEFAULT_CRITICAL_KEYS,
  ungrounded: 'warn',
  snapshotEvery: 1,
}

/** In the order in which they are sealed. */
const RUN_BODIES = {
  RunStarted: [
    {
      v: 1,
      name: 'every event',
      input: { city: 'Bern' },
      tags: ['demo'],
      budget: { tokens: 1_000, cost: { limit: '5.00', currency: 'USD' } },
      policy: POLICY,
      tenantPolicy: digest('tenant policy'),
      requestDigest: digest('request'),
    },
  ],
  RunResumed: [
    { v: 1, fence: 2 },
    { v: 1, fence: 3, holdMs: 30_000, version: '2026-11-27.1' },
  ],
  RunCarried: [{ v: 1, fence: 2 }],
  RunLeft: [
    { v: 1, fence: 2, because: 'waiting' },
    {
      ...{
        v: 1,
        fence: 2,
        because: 'stuck',
        attempts: 1,
        since: '2026-01-02T03:04:05.000Z',
        until: '2026-01-02T03:04:10.000Z',
      },
      error: { code: 'resume-diverged', message: 'the record has a call that the code does not make' },
    },
  ],
  ManifestRegistered: [{ v: 1, agent: 'ann', manifest: { writes: ['facts'] }, hash: digest('manifest') }],
  EnvelopeAccepted: [
    {
      v: 1,
      step: 1,
      agent: 'ann',
      mode: 'replace',
      payload: { facts: { city: 'Bern' }, note: '=1+1' },
      parent: digest('parent'),
      tokens: 12,
      context: digest('context 1'),
      confidence: 1,
    },
    {
      v: 1,
      step: 2,
      agent: 'bob',
      mode: 'merge',
      payload: { entities: ['Bern', 'Zug'] },
      parent: digest('context 1'),
      supersedes: [{ path: '/facts/city', reason: 'moved' }],
      context: digest('context 2'),
      confidence: 0.5,
      findings: [warning],
    },
    {
      v: 2,
      step: 3,
      agent: 'bob',
      mode: 'extend',
      payload: { facts: { canton: 'BE' } },
      add: { constraints: ['by train'] },
      parent: digest('context 2'),
      tokens: 3,
      manifestHash: digest('manifest'),
      signature: 'e30..c2lnbmF0dXJl',
      signed: digest('signed'),
      scope: 'step:bob',
      occurrence: 0,
      rules: 2,
      context: digest('context 3'),
      confidence: 1,
      snapshot: {
        v: 2,
        step: 3,
        context: digest('context 3'),
        budget: { tokens: 15, cost: '0', reservedTokens: 0, reservedCost: '0' },
        openCalls: [],
        openReservations: [],
      },
    },
  ],
  EnvelopeRejected: [
    {
      v: 1,
      agent: 'bob',
      mode: 'merge',
      payload: { facts: { city: 'Basel' } },
      add: { constraints: ['by night'] },
      supersedes: [{ path: '/facts/canton', reason: 'moved' }],
      rules: 2,
      parent: digest('context 2'),
      tokens: 7,
      confidence: 0,
      findings: [finding],
      findingsTotal: 1,
    },
  ],
  JudgementRecorded: [
    {
      v: 1,
      agent: 'ann',
      step: 1,
      verdict: 'reject',
      judge: 'prose',
      model: 'model-1',
      promptDigest: digest('prompt'),
      findings: [
        { rule: 'judged', severity: 'warning', path: '/notes', message: 'the note says the opposite of the fact' },
      ],
    },
    {
      v: 1,
      agent: 'ann',
      step: 1,
      verdict: 'unavailable',
      reason: 'no answer within 30000 ms',
      judge: 'prose',
      findings: [],
    },
    { v: 1, agent: 'ann', step: 1, verdict: 'accept', judge: 'prose', findings: [] },
  ],
  SuspectReviewed: [
    { v: 1, suspects: ['3.1'], decision: 'confirmed', reason: 'asked the customer' },
    { v: 1, suspects: ['3.2', '3.rest'], decision: 'rejected', reason: 'the mail says six' },
  ],
  SnapshotTaken: [
    {
      v: 1,
      step: 2,
      context: digest('context 2'),
      budget: { tokens: 19, cost: '0', reservedTokens: 0, reservedCost: '0' },
      openCalls: [],
      openReservations: [],
    },
  ],
  RunRewound: [
    {
      v: 1,
      fromStep: 2,
      toStep: 1,
      snapshot: 3,
      cause: 'rollback',
      reason: 'by hand',
      context: digest('context 1'),
      callsSince: [],
    },
  ],
  ...CALL_BODIES,
  ...BUDGET_BODIES,
  ...FORK_BODIES,
  RequestRefused: [
    { v: 1, code: 'step-conflict', fingerprint: digest('refused'), detail: 'another step came first' },
    {
      v: 1,
      code: 'stale-fence',
      fingerprint: digest('late'),
      detail: 'a newer fence exists',
      lateOutcome: { callId: uuid(1), fence: 1, status: 'succeeded', digest: digest('late outcome') },
    },
  ],
  RedactionChanged: [{ v: 1, rules: [{ name: 'email', find: ['email'] }], policy: digest('rules') }],
  RunBranched: [{ v: 1, run: 'branch', atStep: 1, revision: 3 }],
  ChildRunStarted: [{ v: 1, callId: uuid(1), run: 'child' }],
  RunCompleted: [{ v: 1, output: { done: true } }],
  RunFailed: [{ v: 1, error: { message: 'gave up', code: 'EGAVEUP' }, openCalls: [uuid(9)] }],
  RunCompensated: (['COMPENSATED', 'PARTLY_COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT'] as const).map((status) => ({
    v: 1 as const,
    compensationId: uuid(90),
    status,
    compensated: [uuid(1)],
    standing: [],
    failed: status === 'COMPENSATION_FAILED' ? [uuid(2)] : [],
    unknown: status === 'IN_DOUBT' ? [uuid(3)] : [],
  })),
  RunKeyDisclosed: [{ v: 1 }],
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }

const SYSTEM_BODIES = {
  LedgerCreated: [
    { v: 1, ledgerId: uuid(100), origin: 'ledger.example', kid: 'k1', verifierKey: 'ledger.example+00000000+AA==' },
  ],
  KeyRotated: [{ v: 1, kid: 'k2', previousKid: 'k1' }],
  ServiceStarted: [
    {
      v: 1,
      start: uuid(110),
      version: '1.2.3',
      node: 'v20.20.0',
      settings: { host: '127.0.0.1', policy: digest('policy') },
      changed: ['host'],
    },
  ],
  ServiceStopped: [{ v: 1, start: uuid(110) }],
  ConfigurationChanged: [{ v: 1, start: uuid(110), setting: 'policy', digest: digest('policy') }],
  TokenIssued: [
    {
      v: 1,
      token: uuid(111),
      kid: 't1',
      subject: 'kim',
      forTenant: 'acme',
      scopes: ['runs:read'],
      run: RUN,
      forAgent: 'ann',
      roles: ['lead'],
      actor: 'bot',
      issuedAt: '2026-01-02T03:04:05.000Z',
      expires: '2026-01-02T04:04:05.000Z',
    },
  ],
  LogKeyRotated: [
    {
      v: 1,
      previousKey: 'ledger.example+00000000+AA==',
      verifierKey: 'ledger.example+00000001+AA==',
      succession: 'countersign/log-key-succession/v1\n',
    },
  ],
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }

const TENANT_BODIES = {
  CheckpointSigned: [
    { v: 1, origin: 'ledger.example/acme', size: 40, root: digest('root'), note: 'ledger.example/acme\n40\n\n' },
  ],
  CheckpointTimestamped: [
    {
      v: 1,
      size: 40,
      root: digest('root'),
      text: 'ledger.example/acme\n40\n',
      authority: 'time.example',
      time: '2026-07-14T09:30:00.000Z',
      policy: '1.2.3.4.1',
      serial: '2a',
      reply: 'MAA=',
    },
  ],
  IntegrityFaultFound: [
    {
      v: 1,
      stream: 'run-acme.every',
      revision: 3,
      code: 'mac',
      message: 'the mac does not fit the header',
      foundBy: 'scrub',
    },
  ],
  LossAcknowledged: [
    {
      v: 1,
      stream: 'run-acme.every',
      from: 3,
      to: 3,
      what: 'damaged',
      code: 'mac',
      seenBy: 'log',
      reason: 'no copy has it any more',
      leaves: [{ index: 7, digest: `sha256:${'1'.repeat(64)}` }],
    },
  ],
  ExportStarted: [{ v: 1, exportId: uuid(101), format: 'jsonl', run: RUN, ...pin, offset: 10 }],
  ErasureRequested: [
    { v: 1, request: uuid(201), keyIds: [uuid(202)], reason: 'asked for by letter', basis: 'GDPR 17(1)(b)' },
    { v: 1, request: uuid(203), keyIds: [uuid(204)], reason: 'asked', basis: 'GDPR 17', waitsFor: [RUN], now: true },
  ],
  HoldPlaced: [
    { v: 1, hold: uuid(210), scope: 'run', run: RUN, reason: 'a claim is pending' },
    { v: 1, hold: uuid(211), scope: 'subject', keyIds: [uuid(202)], reason: 'a claim is pending' },
    { v: 1, hold: uuid(212), scope: 'tenant', reason: 'an inquiry' },
  ],
  RunsArchived: [
    {
      v: 1,
      archive: 'acme-000001',
      digest: digest('archive'),
      bytes: 20_480,
      events: 12,
      runs: [
        { run: 'settled-1', events: 5 },
        { run: 'settled-2', events: 7 },
      ],
      values: [digest('a large value')],
      classes: ['after-a-year'],
      treeSize: 40,
      root: digest('root'),
    },
    {
      v: 1,
      archive: 'acme-000002',
      digest: digest('archive 2'),
      bytes: 512,
      events: 1,
      runs: [{ run: 'settled-3', events: 1 }],
      classes: ['after-a-year', 'tests'],
      treeSize: null,
      root: null,
    },
  ],
  HoldReleased: [{ v: 1, hold: uuid(210), reason: 'the claim was settled' }],
  TokenRevoked: [
    { v: 1, token: uuid(230), reason: 'it was in a log' },
    { v: 1, token: 'an id of another issuer' },
  ],
  ReviewSigned: [
    {
      v: 1,
      review: uuid(220),
      query: 'refusals',
      asOf: { treeSize: 40, eventId: uuid(1120) },
      found: 'nothing odd',
    },
    {
      ...{ v: 1, review: uuid(221), query: 'spend', filters: { by: 'day' }, asOf: { treeSize: 40 } },
      ...{ found: 'one day over the plan', comment: 'the plan is raised' },
    },
  ],
  SubjectErased: [
    {
      v: 1,
      request: uuid(201),
      keyIds: [uuid(202)],
      counts: { runs: 1, events: 2, values: 3 },
      copies: { total: 1, last: [{ exportId: uuid(101), at: '2026-01-02T03:04:05.678Z', actor: 'auditor' }] },
    },
  ],
  ExportIssued: (['complete', 'cut'] as const).map((outcome) => ({
    v: 1 as const,
    exportId: uuid(101),
    format: 'jsonl',
    run: RUN,
    filter: { agent: 'ann' },
    ...pin,
    outcome,
    events: 7,
    bytes: 7_000,
    digest: digest('bytes'),
  })),
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }

const ACCESS_BODIES = {
  AccessRecorded: [
    {
      v: 1,
      entries: [
        { at: '2026-01-02T03:04:05.678Z', actor: 'auditor', query: 'audit/events', run: RUN, count: 3 },
        { at: '2026-01-02T03:04:05.678Z', actor: 'auditor', query: 'replay', verdict: 'TAMPERED', cut: true },
      ],
    },
    {
      v: 2,
      entries: [
        {
          at: '2026-01-02T03:04:05.678Z',
          until: '2026-01-02T03:05:01.234Z',
          actor: 'ann',
          query: 'payloads',
          run: RUN,
          reads: 7,
        },
      ],
    },
  ],
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }

const valueText = `{"rows":[${'1,'.repeat(20)}1]}`
const valueSalt = Buffer.alloc(16, 7)
const valueDigest = dataDigest(valueSalt, valueText)

const VALUE_BODIES = {
  ValueStored: [
    {
      v: 1,
      run: RUN,
      digest: valueDigest,
      bytes: valueText.length,
      mediaType: 'application/json',
      salt: valueSalt.toString('base64url'),
      part: 0,
      parts: 1,
      text: valueText,
    },
  ],
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }

/** Examples of every event type: a new type is requested here by the compiler. */
export const EXAMPLES = {
  ...RUN_BODIES,
  ...SYSTEM_BODIES,
  ...TENANT_BODIES,
  ...ACCESS_BODIES,
  ...VALUE_BODIES,
} satisfies { readonly [T in EventType]: readonly EventBody<T>[] }

const STREAMS = [
  { stream: SYSTEM_STREAM, tenant: SYSTEM_TENANT, bodies: SYSTEM_BODIES, actor: 'ledger' },
  { stream: runStream(TENANT, RUN), tenant: TENANT, bodies: RUN_BODIES, actor: 'agent-1' },
  { stream: ledgerStream(TENANT), tenant: TENANT, bodies: TENANT_BODIES, actor: 'ledger' },
  { stream: accessStream(TENANT, WRITER), tenant: TENANT, bodies: ACCESS_BODIES, actor: 'ledger' },
  { stream: valueStream(TENANT, valueDigest), tenant: TENANT, bodies: VALUE_BODIES, actor: 'agent-1' },
] as const

/** A second between two events; every fifth speaks for somebody, every seventh belongs to a trace. */
function contextOf(at: number, { stream, tenant, actor }: (typeof STREAMS)[number]): Partial<SealContext> {
  return {
    stream,
    tenant,
    actor,
    clock: new Date(Date.UTC(2026, 0, 2, 3, 5, at)).toISOString(),
    newId: () => uuid(1_000 + at),
    ...(at % 5 === 0 && { principal: 'carol', via: ['gateway'] }),
    ...(at % 7 === 0 && { traceparent: `00-${'a'.repeat(32)}-${String(at + 1).padStart(16, '0')}-01` }),
  }
}

/** A store in memory that holds them all, in the order above. */
export async function storeOfEveryEvent(): Promise<EventStore> {
  const store = openMemoryStore()
  const ring = testRing('every event')
  let at = 0
  for (const each of STREAMS) {
    const sealed: SealedEvent[] = []
    for (const [type, bodies] of Object.entries<readonly unknown[]>(each.bodies)) {
      for (const data of bodies) {
        const before = sealed.at(-1)
        const link = { revision: sealed.length, prev: before?.digest, prevTime: before?.header.time }
        const context = sealContext(ring, { ...contextOf(at, each), ...link })
        sealed.push(...sealEvents([{ type, data: data as Json }], context))
        at += 1
      }
    }
    const records = sealed.map(({ record }) => record)
    const result = await store.append({ stream: each.stream, expectedRevision: -1, records })
    if (result.kind !== 'appended') throw new Error(`${each.stream}: ${result.kind}`)
  }
  return store
}
