import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { knowsBody, latestBodyVersion } from '../../projections/body-versions.ts'
import { isCharging } from '../../projections/charges.ts'
import { ratingOf } from '../../projections/event-facts.ts'
import { BODY_FACTS, type EventType as Declared, factIn } from '../../schemas/event-type.ts'
import { EVENTS, isRunEventType, type RunEventType } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Verdict } from '../../schemas/verdict.ts'
import { EXAMPLES } from '../support/every-event.ts'
import { ROOT } from '../support/source-root.ts'

const test = suite('schemas: the catalogue of events')
const TYPES = Object.entries<Declared>(EVENTS)

const kebab = (type: string): string => type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()
const membersOf = ({ schema }: Declared): readonly string[] => Object.keys(schema.shape)

test('each event type has a file of its own, and each such file is in the catalogue', () => {
  const files = readdirSync(join(ROOT, 'schemas/events')).sort()
  assert.equal(files, TYPES.map(([type]) => `${kebab(type)}.ts`).sort())
})

test('the versions of a body that folds, readers and verify know are those that its schema takes (REC-7)', () => {
  for (const [type, { schema }] of TYPES) {
    const v = (schema.shape as unknown as Record<string, { safeParse: (value: unknown) => { success: boolean } }>).v
    for (const version of [0, 1, 2, 3, 1.5, '1', null, undefined]) {
      assert.is(knowsBody(type, version), v?.safeParse(version).success === true, `${type} ${version}`)
    }
    assert.ok(latestBodyVersion(type) >= 1)
  }
})

test('each type declares every fact that its body can say, and no other', () => {
  const probe = { text: 'x', object: Object.fromEntries(BODY_FACTS.map((fact) => [fact, 'x'])) }
  for (const [type, declared] of TYPES) {
    const sayable = BODY_FACTS.filter((fact) =>
      membersOf(declared).some((member) =>
        [probe.text, probe.object].some((value) => factIn(fact, { [member]: value }) !== undefined),
      ),
    )
    assert.equal([...declared.facts].sort(), [...sayable].sort(), type)
  }
})

test('a body with findings or a refusal code declares that auditors find it by them', () => {
  for (const [type, declared] of TYPES) {
    const wanted = membersOf(declared).includes('findings')
      ? 'findings'
      : membersOf(declared).includes('code') && 'code'
    if (wanted !== false) assert.is(declared.rules, wanted, type)
  }
})

test('what auditors find as refused, failed or in doubt is a failure wherever else it is reported', () => {
  const failing: readonly (Verdict | null)[] = [
    'rejected',
    'refused',
    'failed',
    'in-doubt',
    'compensation-failed',
    'run-failed',
  ]
  for (const [type, bodies] of Object.entries<readonly object[]>(EXAMPLES)) {
    for (const body of bodies) {
      const { verdict, outcome, severity } = ratingOf(EVENTS[type as keyof typeof EVENTS], body as JsonObject)
      if (failing.includes(verdict)) assert.is(outcome, 'failure', `${type}: ${verdict}`)
      if (outcome === 'failure') assert.is.not(severity, 'informational', type)
    }
  }
})

test('a body that says its outcome in no known word has not come about', () => {
  for (const type of ['ToolCallResolved', 'BranchReceived', 'ForkJoined', 'RunCompensated', 'ExportIssued'] as const) {
    for (const word of [undefined, 'constructor', 7, null]) {
      const body = { outcome: word, status: word } as JsonObject
      assert.equal(ratingOf(EVENTS[type], body), { verdict: null, outcome: 'failure', severity: 'medium' }, type)
    }
  }
})

test('the types that change the bill are those that the fold of charges looks at', () => {
  for (const [type, { changes }] of TYPES.filter(([name]) => isRunEventType(name))) {
    assert.is(isCharging(type as RunEventType), changes.bill === true, type)
  }
})

test('labels are the types in words, each its own', () => {
  for (const [type, { label }] of TYPES) assert.is(label.toLowerCase(), kebab(type).replaceAll('-', ' '))
})

test.run()
