import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RunState } from '../../projections/run-state.ts'
import type { ApprovalRule, DecideApproval } from '../../schemas/approval.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import type { ClaimCall } from '../../schemas/requests.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { decideDenial, decideGrant, decideWithdrawal } from '../../src/domain/approvals.ts'
import { decideClaim } from '../../src/domain/calls.ts'
import type { Draft, Env } from '../../src/domain/decision.ts'
import { underTenantPolicy } from '../../src/domain/validator/policy/with-tenant.ts'
import { at, digestOf, given, id } from '../support/decider.ts'
import { called, claimed, ended, failed, rollingBack, started, undoing, undone } from '../support/run-events.ts'

const test = suite('the decision on approvals')

type Decide<Body> = (body?: Body) => (state: RunState, env: Env) => ReturnType<typeof decideClaim>

const PAY = { amount: 5_000, to: 'acme' }
const claim: Decide<Partial<ClaimCall>> = (more) => (state, env) =>
  decideClaim(state, { tool: 'pay', args: PAY, key: 'k1', ...more }, env)
const grant =
  (n: number, body: Partial<DecideApproval> = {}) =>
  (state: RunState, env: Env) =>
    decideGrant(state, { approvalId: id(n), body: { argsDigest: digestOf(PAY), ...body } }, env)
const deny =
  (n: number, body: Partial<DecideApproval> = {}) =>
  (state: RunState, env: Env) =>
    decideDenial(state, { approvalId: id(n), body: { argsDigest: digestOf(PAY), ...body } }, env)

const ruled = (...approve: ApprovalRule[]): Draft => started({ policy: resolvePolicy({ approve }) })
const OVER_A_THOUSAND = { tools: ['pay'], when: 'args.amount > 1000' }

const request = (n: number, more: Partial<EventBody<'ApprovalRequested'>> = {}): Draft => ({
  type: 'ApprovalRequested',
  data: {
    ...{ v: 1, approvalId: id(n), key: 'k1', tool: 'pay', phase: 'forward', args: PAY, argsDigest: digestOf(PAY) },
    ...{ generation: 1, needs: [{ source: 'policy', reason: 'much', quorum: 1 }], expiresAt: at(60_000) },
    ...{ selfApproval: false, onDenied: 'error' },
    ...more,
  } as EventBody<'ApprovalRequested'>,
})
const granted = (n: number, more: Partial<EventBody<'ApprovalGranted'>> = {}): Draft => ({
  type: 'ApprovalGranted',
  data: { v: 1, approvalId: id(n), tool: 'pay', argsDigest: digestOf(PAY), complete: true, ...more },
})
const denied = (n: number): Draft => ({
  type: 'ApprovalDenied',
  data: { v: 1, approvalId: id(n), tool: 'pay', argsDigest: digestOf(PAY) },
})
const used = (n: number, approval: number): Draft[] =>
  called(n, { tool: 'pay', key: 'k1', args: PAY, argsDigest: digestOf(PAY), approvalId: id(approval) })

test('a call that a rule is about is not claimed: it is requested for a week, nothing runs and nothing is reserved (RUN-60, RUN-165)', () => {
  given(ruled(OVER_A_THOUSAND))
    .when(claim({ reserve: { tokens: 10 } }))
    .refused('approval-pending', { approvalId: id(101), argsDigest: digestOf(PAY) })
    .recorded([
      'ApprovalRequested',
      { tool: 'pay', args: PAY, argsDigest: digestOf(PAY), expiresAt: at(7 * 86_400_000), generation: 1 },
    ])
    .leads((state) => {
      assert.equal(Object.keys(state.openCalls), [])
      assert.equal(Object.keys(state.openReservations), [])
      assert.equal(Object.keys(state.pendingApprovals).length, 1)
    })
})

const conditions: readonly [what: string, when: string, args: Json, waits: boolean][] = [
  ['is over the limit', 'args.amount > 1000', { amount: 1_000.01 }, true],
  ['is at the limit', 'args.amount > 1000', { amount: 1_000 }, false],
  ['is a number in a text', 'args.amount > 1000', { amount: '1,000.01' }, true],
  ['has no amount at all', 'args.amount > 1000', {}, true],
  ['has an amount that is no number', 'args.amount > 1000', { amount: 'a lot' }, true],
  ['has a list of a wrapped function', 'args[0] > 1000', [1_001], true],
  ['is to somebody known', "args.to != 'acme'", { to: 'acme' }, false],
  ['is to somebody else', "args.to != 'acme'", { to: 'ACME Ltd' }, true],
  ['takes more steps than are given', 'sum(args.items, n) > 1', { items: new Array(300_000).fill({ n: 0 }) }, true],
  ['has less than the noise of a sum, and not nothing', 'args.amount > 0', { amount: 1e-11 }, true],
  ['has that as it is written out', 'args.amount >= 0.00000000001', { amount: 1e-11 }, true],
  ['has that, and other than nothing is asked', 'args.amount != 0', { amount: 1e-11 }, true],
  ['has less than what is written out', 'args.amount >= 0.00000000001', { amount: 9e-12 }, false],
  ['sums up to less than the noise', 'sum(args.items, n) > 0', { items: [{ n: 1e-11 }, { n: 0 }] }, true],
  ['is over the limit by a billionth part', 'args.amount > 1000', { amount: 1000.0000001 }, true],
  ['is at the limit in decimal', 'args.a + args.b > 0.3', { a: 0.1, b: 0.2 }, false],
  ['sums up to the limit in decimal', 'sum(args.items) > 100', { items: [33.33, 33.33, 33.34] }, false],
  ['is over it by what a double drops', 'args.a + args.b > 1000', { a: 1000, b: 1e-14 }, true],
  ['has a product too small for a double', 'args.a * args.b > 0', { a: 1e-200, b: 1e-200 }, true],
  ['has a quotient within the noise of the limit', 'args.a / args.b >= 7', { a: 0.7, b: 0.1 }, true],
  ['has a quotient at the limit', 'args.a / 2 > 5', { a: 10 }, false],
  ['makes a condition that says neither yes nor no', 'args.amount', { amount: 0 }, true],
]
for (const [what, when, args, waits] of conditions) {
  test(`a call that ${what} ${waits ? 'waits' : 'runs'}: ${when} (RUN-60, A463)`, () => {
    const decided = given(ruled({ when })).when(claim({ args }))
    if (waits) decided.refused('approval-pending').recorded('ApprovalRequested')
    else decided.appends('ToolCallClaimed')
  })
}

test('tool, manifest and policy add up: each rule is a need of its own, the shortest time and the strictest word count (RUN-60)', () => {
  const manifest: Draft = {
    type: 'ManifestRegistered',
    data: {
      v: 1,
      agent: 'ann',
      hash: digestOf('m'),
      manifest: { policy: { approve: [{ roles: ['treasurer'], expiresMs: 5_000, selfApproval: true }] } },
    },
  }
  given(ruled(OVER_A_THOUSAND, { tools: ['other'] }), manifest)
    .when(claim({ agent: 'ann', approve: { quorum: 2, onDenied: 'rollback' } }))
    .recorded([
      'ApprovalRequested',
      {
        needs: [
          { source: 'policy', reason: 'the policy wants: args.amount > 1000', quorum: 1 },
          {
            source: 'manifest',
            reason: 'the manifest wants every such call approved',
            quorum: 1,
            roles: ['treasurer'],
          },
          { source: 'tool', reason: 'the tool wants every such call approved', quorum: 2 },
        ],
        expiresAt: at(5_000),
        selfApproval: false,
        onDenied: 'rollback',
      },
    ])
})

test("no run starts without the approvals that its tenant's policy wants, whatever it declares itself (RUN-60)", () => {
  for (const declared of [undefined, 'relay' as const, { approve: [] }, { approve: [{ tools: ['other'] }] }]) {
    const under = underTenantPolicy(declared, { approve: [OVER_A_THOUSAND] })
    assert.ok(under.ok)
    given(started({ policy: under.policy }))
      .when(claim())
      .refused('approval-pending')
  }
})

test('a claim that is granted uses its approval up in one write, and a repeat is served (RUN-62)', () => {
  given(ruled(), request(1), [0, granted(1), 'bob'])
    .when(claim())
    .appends(['ToolCallClaimed', { approvalId: id(1), args: PAY }])
    .leads((state) => {
      assert.is(state.approvals[`$${id(1)}`]?.status, 'used')
      assert.is(state.approvals[`$${id(1)}`]?.callId, id(101))
    })
  given(ruled(), request(1), granted(1), ...used(2, 1))
    .when(claim())
    .is('recorded-call')
})

test('what was requested once is requested whatever a later claim says of it (RUN-60)', () => {
  given(started(), request(1))
    .when(claim({ approve: undefined }))
    .refused('approval-pending')
    .recorded()
})

test('approved arguments run, other ones do not: with their own key they wait, under the same one they are refused on record (RUN-61)', () => {
  const other = { amount: 50_000, to: 'acme' }
  given(ruled(OVER_A_THOUSAND), request(1), granted(1))
    .when(claim({ args: other, key: 'k2' }))
    .refused('approval-pending')
    .recorded(['ApprovalRequested', { argsDigest: digestOf(other) }])
  given(ruled(OVER_A_THOUSAND), request(1), granted(1))
    .when(claim({ args: other }))
    .refused('approval-mismatch', { expected: digestOf(PAY), actual: digestOf(other) })
    .recorded('RequestRefused')
  given(ruled(OVER_A_THOUSAND), request(1), granted(1))
    .when(claim({ args: other, key: 'k2', approval: id(1) }))
    .refused('approval-mismatch')
    .recorded(['RequestRefused', { code: 'approval-mismatch', pointer: '/args' }])
})

test('whatever two arguments are, an approval of one admits the other only where both are one JSON value (RUN-61)', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (a, b) => {
      const approved = request(1, { args: a as Json, argsDigest: digestOf(a as Json) })
      const decided = given(ruled({}), approved, granted(1, { argsDigest: digestOf(a as Json) })).when(
        claim({ args: b as Json, approval: id(1) }),
      )
      if (digestOf(a as Json) === digestOf(b as Json)) decided.appends('ToolCallClaimed')
      else decided.refused('approval-mismatch').recorded('RequestRefused')
    }),
    { numRuns: 200 },
  )
})

const strangers: readonly [what: string, code: string, events: readonly Draft[], more: Partial<ClaimCall>][] = [
  ['that is none of this run', 'approval-not-found', [], { approval: id(7) }],
  ['of another tool', 'approval-mismatch', [request(1), granted(1)], { tool: 'wire' }],
  ['of another agent', 'approval-mismatch', [request(1, { agent: 'ann' }), granted(1)], { agent: 'bob' }],
  [
    'that another call has used',
    'approval-used',
    [request(1), granted(1), ...used(2, 1)],
    { key: 'k2', approval: id(1) },
  ],
  ['of another key', 'approval-mismatch', [request(1), granted(1)], { key: 'k2', approval: id(1) }],
]
for (const [what, code, events, more] of strangers) {
  test(`a claim by an approval ${what} is refused on record and runs nothing: ${code} (RUN-62)`, () => {
    given(ruled(), ...events)
      .when(claim(more))
      .refused(code)
      .recorded(['RequestRefused', { code }])
  })
}

test('another attempt at an approved call needs no new approval, one that was undone and is made again does (RUN-62)', () => {
  const attempt = claimed(2, { tool: 'pay', args: PAY, argsDigest: digestOf(PAY), key: 'k1', approvalId: id(1) })
  given(ruled(OVER_A_THOUSAND), request(1), granted(1), attempt, failed(2))
    .when(claim(), { ms: 70_000 })
    .appends(['ToolCallClaimed', { callId: id(2), attempt: 2, approvalId: id(1) }])
  const undoneOnce = [request(1), granted(1), ...used(2, 1), rollingBack('s'), undoing(3, 2), undone(3, 2)]
  given(ruled(OVER_A_THOUSAND), ...undoneOnce)
    .when(claim())
    .refused('approval-pending')
    .recorded(['ApprovalRequested', { generation: 2 }])
  given(ruled(OVER_A_THOUSAND), ...undoneOnce)
    .when(claim({ approval: id(1) }))
    .refused('approval-used')
    .recorded('RequestRefused')
})

test('a yes and a no are signed with what they are about; a no is final, for every repeat of the call (RUN-61)', () => {
  given(ruled(), request(1))
    .when(grant(1, { comment: 'fine' }), { actor: 'bob' })
    .appends(['ApprovalGranted', { argsDigest: digestOf(PAY), comment: 'fine', complete: true }])
  given(ruled(), request(1))
    .when(deny(1, { comment: 'too much' }), { actor: 'bob' })
    .appends(['ApprovalDenied', { argsDigest: digestOf(PAY), comment: 'too much' }])
  given(ruled(), request(1), denied(1)).when(claim()).refused('approval-denied').recorded()
})

const withdraw =
  (n: number, body: Partial<DecideApproval> = {}) =>
  (state: RunState, env: Env) =>
    decideWithdrawal(state, { approvalId: id(n), body: { argsDigest: digestOf(PAY), ...body } }, env)
const withdrawn = (n: number): Draft => ({
  type: 'ApprovalWithdrawn',
  data: { v: 1, approvalId: id(n), tool: 'pay', argsDigest: digestOf(PAY) },
})

test('what was granted and not used is withdrawn by whoever may decide; the call waits anew, and takes every yes again (RUN-90)', () => {
  given(ruled(), request(1), granted(1))
    .when(withdraw(1, { comment: 'another account' }), { actor: 'carol' })
    .appends(['ApprovalWithdrawn', { approvalId: id(1), comment: 'another account' }])
    .leads(({ approvals, pendingApprovals }) => {
      const [approval] = Object.values(approvals)
      assert.equal([approval?.status, approval?.grants], ['pending', []])
      assert.is(Object.keys(pendingApprovals).length, 1)
    })
  given(ruled(), request(1), granted(1), withdrawn(1)).when(claim()).refused('approval-pending').recorded()
  given(ruled(), request(1), granted(1), withdrawn(1)).when(grant(1), { actor: 'bob' }).appends('ApprovalGranted')
  given(ruled(), request(1), granted(1, { complete: false }))
    .when(withdraw(1), { actor: 'bob' })
    .appends('ApprovalWithdrawn')
})

test('what was used, or never granted, is not withdrawn, nor by who may not decide, nor on other arguments (RUN-90)', () => {
  given(ruled(), request(1), granted(1), ...used(2, 1))
    .when(withdraw(1))
    .refused('approval-used')
    .recorded('RequestRefused')
  given(ruled(), request(1)).when(withdraw(1)).refused('approval-decided').recorded('RequestRefused')
  given(ruled(), request(1), denied(1)).when(withdraw(1)).refused('approval-decided').recorded('RequestRefused')
  given(ruled(), request(1), granted(1))
    .when(withdraw(1), { ms: 60_000 })
    .refused('approval-expired')
    .recorded('ApprovalExpired')
  given(ruled(), request(1), granted(1))
    .when(withdraw(1, { argsDigest: digestOf('x') }))
    .refused('approval-mismatch')
  given(
    ruled(),
    request(1, { needs: [{ source: 'policy', reason: 'much', quorum: 1, roles: ['treasurer'] }] }),
    granted(1, { roles: ['treasurer'] }),
  )
    .when(withdraw(1), { actor: 'bob' })
    .refused('approval-role-missing')
})

const undecidable: readonly [what: string, code: string, events: readonly Draft[], record: readonly string[]][] = [
  ['nobody asked for', 'approval-not-found', [], ['RequestRefused']],
  ['was granted already', 'approval-decided', [request(1), granted(1)], ['RequestRefused']],
  ['was denied already', 'approval-decided', [request(1), denied(1)], ['RequestRefused']],
  ['was used already', 'approval-decided', [request(1), granted(1), ...used(2, 1)], ['RequestRefused']],
  ['belongs to a run that has ended', 'run-ended', [request(1), ended('RunFailed')], []],
  ['belongs to a scope that is rolled back', 'compensating', [request(1, { scope: 's' }), rollingBack('s')], []],
]
for (const [what, code, events, record] of undecidable) {
  for (const [word, decide] of [['yes', grant(1)] as const, ['no', deny(1)] as const]) {
    test(`a ${word} to what ${what} is refused: ${code} (RUN-62)`, () => {
      const decided = given(ruled(), ...events).when(decide, { actor: 'bob' })
      decided.refused(code).recorded(...(record as ['RequestRefused']))
    })
  }
}

test('a decision on other arguments than were requested is refused and on record (RUN-61)', () => {
  for (const decide of [grant, deny])
    given(ruled(), request(1))
      .when(decide(1, { argsDigest: digestOf('other') }), { actor: 'bob' })
      .refused('approval-mismatch', { expected: digestOf(PAY), actual: digestOf('other') })
      .recorded(['RequestRefused', { pointer: '/argsDigest' }])
})

test('past its end nobody decides and nothing runs by it; the first to meet it says so, once (RUN-62)', () => {
  for (const decide of [grant(1), deny(1), claim()])
    given(ruled(), request(1))
      .when(decide, { actor: 'bob', ms: 60_000 })
      .refused('approval-expired')
      .recorded('ApprovalExpired')
  given(ruled(), request(1), granted(1))
    .when(claim(), { ms: 60_000 })
    .refused('approval-expired')
    .recorded('ApprovalExpired')
  given(ruled(), request(1), granted(1)).when(claim(), { ms: 59_999 }).appends('ToolCallClaimed')
  const expired: Draft = { type: 'ApprovalExpired', data: { v: 1, approvalId: id(1), tool: 'pay' } }
  given(ruled(), request(1), expired).when(claim()).refused('approval-expired').recorded()
  given(ruled(), request(1), expired).when(grant(1), { actor: 'bob' }).refused('approval-decided')
})

const selves: readonly [who: string, asked: string, decides: { actor: string; principal?: string }][] = [
  ['the same name', 'alice', { actor: 'alice' }],
  ['whoever the asker acts as now, for somebody else', 'alice', { actor: 'alice', principal: 'carol' }],
  ['an agent in the name of the asker', 'alice', { actor: 'bot', principal: 'alice' }],
]
for (const [who, asked, decides] of selves) {
  test(`${who} does not approve what it asked for, unless every rule allows that (RUN-63)`, () => {
    given(ruled(), [0, request(1), asked])
      .when(grant(1), decides)
      .refused('self-approval')
      .recorded(['RequestRefused', { code: 'self-approval' }])
    given(ruled(), [0, request(1, { selfApproval: true }), asked])
      .when(grant(1), decides)
      .appends('ApprovalGranted')
    const needs = [{ source: 'policy' as const, reason: 'money', quorum: 1, roles: ['treasurer'] }]
    given(ruled(), [0, request(1, { needs }), asked])
      .when(deny(1), decides)
      .appends('ApprovalDenied')
  })
}

test('a quorum is made of different people: whoever said yes is not counted twice, through no second agent either (RUN-63)', () => {
  const two = request(1, { needs: [{ source: 'policy', reason: 'much', quorum: 2 }] })
  given(ruled(), two)
    .when(grant(1), { actor: 'bob' })
    .appends(['ApprovalGranted', { complete: false }])
    .leads((state) => assert.is(state.approvals[`$${id(1)}`]?.status, 'pending'))
  given(ruled(), two, [0, granted(1, { complete: false }), 'bob'])
    .when(grant(1), { actor: 'bot-of-bob', principal: 'bob' })
    .refused('approval-decided')
    .recorded('RequestRefused')
  given(ruled(), two, [0, granted(1, { complete: false }), 'bob'])
    .when(grant(1), { actor: 'bob', principal: 'carol' })
    .refused('approval-decided')
    .recorded('RequestRefused')
  given(ruled(), two, [0, granted(1, { complete: false }), 'bob'])
    .when(claim())
    .refused('approval-pending')
  given(ruled(), two, [0, granted(1, { complete: false }), 'bob'])
    .when(grant(1), { actor: 'carol' })
    .appends(['ApprovalGranted', { complete: true }])
})

test('each need wants its own roles: one person with several may count for several, one without any for none (RUN-63)', () => {
  const needs = [
    { source: 'policy' as const, reason: 'money', quorum: 1, roles: ['treasurer'] },
    { source: 'tool' as const, reason: 'law', quorum: 1, roles: ['counsel', 'judge'] },
  ]
  const both = request(1, { needs })
  for (const decide of [grant(1), deny(1)])
    given(ruled(), both)
      .when(decide, { actor: 'bob', roles: ['cleaner'] })
      .refused('approval-role-missing')
      .recorded('RequestRefused')
  given(ruled(), both)
    .when(grant(1), { actor: 'bob', roles: ['treasurer', 'cleaner'] })
    .appends(['ApprovalGranted', { roles: ['treasurer'], complete: false }])
  given(ruled(), both)
    .when(grant(1), { actor: 'bob', roles: ['treasurer', 'judge'] })
    .appends(['ApprovalGranted', { roles: ['treasurer', 'judge'], complete: true }])
  given(ruled(), both, [0, granted(1, { roles: ['treasurer'], complete: false }), 'bob'])
    .when(grant(1), { actor: 'carol', roles: ['counsel'] })
    .appends(['ApprovalGranted', { complete: true }])
})

test.run()
