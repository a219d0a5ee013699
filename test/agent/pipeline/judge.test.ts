import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AgentError } from '../../../src/agent/errors.ts'
import type { Judge, JudgedHandoff } from '../../../src/agent/pipeline/judge.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import { HOMES, killedAfter, rejection, type TestHome } from '../homes.ts'

const facts = { allergies: ['penicillin'] }
const honest = { facts, notes: 'Allergic to penicillin.' }
const wrong = { facts, notes: 'No allergies known.' }

/** Reads the notes against the facts, as a model would. */
function prose(judgings: number[] = []): Judge {
  return {
    name: 'prose',
    judge: ({ step, after }) => {
      judgings.push(step)
      const isWrong = String(after.notes).includes('No allergies')
      const findings = isWrong ? [{ path: '/notes', message: 'the notes deny an allergy' }] : []
      return {
        verdict: isWrong ? 'reject' : 'accept',
        findings,
        model: 'reader-1',
        promptDigest: `sha256:${'a'.repeat(64)}`,
      }
    },
  }
}

const strict = { judge: 'reject' } as const

for (const { name, open } of HOMES) {
  const judged = suite(`judge ${name}`)

  const judgements = async (home: TestHome): Promise<JsonObject[]> => {
    const all: JsonObject[] = []
    for await (const { data } of home.connection.events('r', 'JudgementRecorded')) all.push(data)
    return all
  }
  const verdicts = async (home: TestHome) => (await judgements(home)).map(({ step, verdict }) => [step, verdict])

  judged('what a judge says of prose is on record, and by default refuses nothing (JUD-32)', async () => {
    await using home = await open()
    const seen: JudgedHandoff[] = []
    const judge: Judge = {
      ...prose(),
      judge: (handoff) => {
        seen.push(handoff)
        return prose().judge(handoff)
      },
    }
    await home.process().run({ id: 'r', judge }, async (run) => {
      await run.handoff(honest, { agent: 'nurse' })
      assert.is((await run.handoff(wrong, { agent: 'clerk' })).ok, true)
      assert.is((await run.handoff({ ...wrong, facts: { ...facts, age: 60 } }, { agent: 'clerk' })).ok, true)
    })
    assert.equal(await verdicts(home), [
      [1, 'accept'],
      [2, 'reject'],
      [3, 'reject'],
    ])
    const [, second] = await judgements(home)
    assert.equal(second, {
      v: 1,
      step: 2,
      agent: 'clerk',
      verdict: 'reject',
      judge: 'prose',
      model: 'reader-1',
      promptDigest: `sha256:${'a'.repeat(64)}`,
      findings: [{ rule: 'judged', severity: 'warning', path: '/notes', message: 'the notes deny an allergy' }],
    })
    assert.equal([seen[1]?.before, seen[1]?.after, seen[1]?.runId], [honest, wrong, 'r'])
  })

  judged('by policy the next handoff is refused until it says the place anew, or why it stands (JUD-33)', async () => {
    await using home = await open()
    await home.process().run({ id: 'r', judge: prose(), policy: strict }, async (run) => {
      await run.handoff(honest, { agent: 'nurse' })
      await run.handoff(wrong, { agent: 'clerk' })
      const refused = await run.handoff({ ...wrong, plan: 'discharge' }, { agent: 'clerk' })
      assert.equal(refused.ok ? [] : refused.findings, [
        {
          rule: 'judged',
          severity: 'error',
          path: '/notes',
          inHandoff: '/payload/notes',
          message: 'the notes deny an allergy',
          supersede: { path: '/notes', reason: '' },
        },
      ])
      assert.is((await run.handoff(honest, { agent: 'clerk' })).ok, true)
      await run.handoff(wrong, { agent: 'clerk' })
      const supersedes = [{ path: '/notes', reason: 'the allergy was ruled out, test of 3 May' }]
      assert.is((await run.handoff({ ...wrong, plan: 'discharge' }, { agent: 'clerk', supersedes })).ok, true)
    })
  })

  judged('the agent of a step gets what the judge objects to, and passes at the second try', async () => {
    await using home = await open()
    const result = await home.process().run({ id: 'r', judge: prose(), policy: strict }, async (run) => {
      await run.handoff(wrong, { agent: 'clerk' })
      const says = (_: JsonObject, { findings }: { findings: readonly { rule: string }[] }) =>
        findings.some(({ rule }) => rule === 'judged') ? { notes: 'Allergic to penicillin.' } : { plan: 'discharge' }
      return run.step('doctor', says, { repairs: 1 })
    })
    assert.is(result.attempts, 2)
  })

  const FAILING: readonly (readonly [string, Judge['judge'], RegExp])[] = [
    [
      'throws',
      () => {
        throw new Error('no credit left')
      },
      /no credit left/,
    ],
    ['never answers', () => new Promise(() => undefined), /no answer within 20 ms/],
    ['says neither yes nor no', () => ({ verdict: 'maybe' }) as never, /neither/],
    ['says nothing', () => undefined as never, /no verdict/],
    ['gives findings that are none', () => ({ verdict: 'reject', findings: ['bad'] }) as never, /no \{path, message\}/],
  ]
  for (const [what, ask, reason] of FAILING) {
    judged(`a judge that ${what} has assented to nothing (JUD-34)`, async () => {
      await using home = await open()
      await home
        .process()
        .run({ id: 'r', judge: { name: 'prose', judge: ask, timeoutMs: 20 }, policy: strict }, async (run) => {
          await run.handoff(honest, { agent: 'nurse' })
          const next = await run.handoff({ ...honest, plan: 'discharge' }, { agent: 'nurse' })
          assert.match(next.ok ? '' : (next.findings[0]?.message ?? ''), /gave no verdict on step 1/)
        })
      const [first] = await judgements(home)
      assert.is(first?.verdict, 'unavailable')
      assert.match(String(first?.reason), reason)
    })
  }

  judged(
    'under the policy a handoff that nobody judged is built upon by none; judged by hand, it is (JUD-33)',
    async () => {
      await using home = await open()
      await home.process().run({ id: 'r', policy: strict }, async (run) => {
        await run.handoff(honest, { agent: 'nurse' })
        const next = { ...honest, plan: 'discharge' }
        const refused = await run.handoff(next, { agent: 'nurse' })
        assert.match(refused.ok ? '' : (refused.findings[0]?.message ?? ''), /has not been judged yet/)
        const say = (body: object) => home.connection.execute('r', { kind: 'judgement', body: body as never })
        const wrongStep = await say({ step: 7, verdict: 'accept', judge: 'Ada' })
        assert.is(wrongStep.ok ? '' : wrongStep.problem.code, 'unknown-step')
        assert.is((await say({ step: 1, verdict: 'accept', judge: 'Ada' })).ok, true)
        assert.is((await run.handoff(next, { agent: 'nurse' })).ok, true)
      })
    },
  )

  judged('a resume asks for the verdicts that are not recorded, a replay for none (JUD-32)', async () => {
    await using home = await open()
    const judgings: number[] = []
    const body = async (run: Run): Promise<string> => {
      await run.handoff(honest, { agent: 'nurse' })
      await run.handoff({ ...honest, plan: 'discharge' }, { agent: 'nurse' })
      return 'done'
    }
    const killed = killedAfter(3, true)
    const options = { id: 'r', judge: prose(judgings), policy: strict }
    void home
      .process(killed.change)
      .run(options, body)
      .catch(() => undefined)
    await killed.dead
    const before = judgings.length
    assert.is(
      await home
        .process()
        .run({ ...options, name: 'body' }, body)
        .catch((error: Error) => error.message),
      'done',
    )
    assert.equal(await verdicts(home), [
      [1, 'accept'],
      [2, 'accept'],
    ])
    assert.ok(judgings.length - before <= 2 && judgings.length >= 2)
    const count = judgings.length
    const replayed = await home.process().replay('r', body as never)
    assert.is((replayed as { readonly ok?: boolean }).ok ?? true, true)
    assert.is(judgings.length, count)
  })

  judged(
    'what a join establishes is judged like a handoff, and no fork builds on what is objected to (JUD-32, JUD-33)',
    async () => {
      await using home = await open()
      const judgings: number[] = []
      const clerk = { agent: 'clerk', run: () => ({ notes: 'No allergies known.' }) }
      await home
        .process()
        .run({ id: 'r', judge: prose(judgings), policy: strict }, async (run) => {
          await run.handoff(honest, { agent: 'nurse' })
          await run.fork([clerk], { join: 'union' })
          const error = (await rejection(run.fork([clerk], { join: 'union' }))) as AgentError
          assert.match(error.message, /fork would build on step 2/)
          assert.is((await run.handoff({ ...wrong, plan: 'discharge' }, { agent: 'nurse' })).ok, false)
        })
        .catch((error: AgentError) => assert.is(error.code, 'contradiction'))
      assert.equal(await verdicts(home), [
        [1, 'accept'],
        [2, 'reject'],
      ])
    },
  )

  judged(
    'an objection that comes while branches work ends the fork: nothing is merged, and what they called is undone (JUD-33, F121)',
    async () => {
      await using home = await open()
      const cs = home.process()
      const undone: string[] = []
      const book = cs.tool((ward: string) => `a bed in ${ward}`, {
        name: 'book',
        compensate: ({ args: [ward] }) => void undone.push(String(ward)),
      })
      const object = () => {
        const findings = [{ path: '/notes', message: 'the notes are of somebody else' }]
        const body = { step: 1, verdict: 'reject' as const, judge: 'Ada', findings }
        return home.connection.execute('r', { kind: 'judgement', body })
      }
      await cs.run({ id: 'r', judge: prose(), policy: strict }, async (run) => {
        await run.handoff(honest, { agent: 'nurse' })
        const clerk = { agent: 'clerk', run: async () => ({ bed: await book('ward 3'), said: (await object()).ok }) }
        const failed = (await rejection(run.fork([clerk], { join: 'union' }))) as AgentError
        assert.is(failed.code, 'fork-failed')
        assert.match(failed.message, /judged at \/notes: the notes are of somebody else/)
        assert.equal(undone, ['ward 3'])
        assert.is((await run.handoff({ ...honest, notes: 'Allergic.' }, { agent: 'nurse' })).ok, true)
      })
    },
  )

  judged('a branch run is judged for itself, the step that it leaves from as well (JUD-32, JUD-33)', async () => {
    await using home = await open()
    const judgings: number[] = []
    const options = { judge: prose(judgings), policy: strict }
    const body = (notes: string) => async (run: Run) => {
      await run.handoff(honest, { agent: 'nurse' })
      const second = await run.handoff({ ...honest, notes }, { agent: 'clerk' })
      return [second.ok, (await run.handoff({ ...honest, notes, plan: 'discharge' }, { agent: 'clerk' })).ok]
    }
    const cs = home.process()
    assert.equal(await cs.run({ id: 'r', name: 'r', ...options }, body('Penicillin!')), [true, true])
    judgings.length = 0
    assert.equal(await cs.branch('r', { atStep: 1, id: 'b', ...options }, body('No allergies known.')), [true, false])
    assert.equal(judgings, [1, 2])
  })

  judged('what is no judge is said before the run begins', async () => {
    await using home = await open()
    const failed = await rejection(
      home.process().run({ id: 'r', judge: { name: '', judge: () => ({ verdict: 'accept' }) } }, () => 1),
    )
    assert.is((failed as AgentError).code, 'invalid-judge')
  })

  judged.run()
}
