import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AUDIT_COLUMNS, AUDIT_FILTERS, Instant } from '../../schemas/audit-fields.ts'
import { EventQuery, EventQueryParams } from '../../schemas/event-query.ts'
import { BODY_FACTS } from '../../schemas/event-type.ts'
import { AUDIT_QUERIES } from '../../src/ledger/audit/audit-queries.ts'
import { AUDIT_SCHEMA } from '../../src/store/sqlite/audit-schema.ts'

const test = suite('schemas: the table of audit fields')

const names = AUDIT_FILTERS.map(({ name }) => name)

test('every fact of bodies has its column, and every filter but those of words and of any name has one to compare with', () => {
  assert.equal(
    BODY_FACTS.filter((fact) => !AUDIT_COLUMNS.includes(fact)),
    [],
  )
  for (const { name, field } of AUDIT_FILTERS) {
    if (field !== 'words' && field !== 'names')
      assert.match(AUDIT_SCHEMA, new RegExp(`^  ${field} (TEXT|INTEGER)`, 'm'), name)
  }
})

test('queries of code, of a URL and by name take the filters of the table and no other', () => {
  assert.equal(Object.keys(EventQuery.shape), names)
  assert.equal(Object.keys(EventQueryParams.shape), names)
  assert.equal([...AUDIT_QUERIES.events.filters].sort(), [...names].sort())
})

test('the verifier in a bundle knows every filter that a bundle can be made by', () => {
  const verifier = readFileSync(new URL('../../src/verify/bundle/verify.mjs', import.meta.url), 'utf8')
  for (const { name, proof } of AUDIT_FILTERS) {
    if (proof !== 'index') assert.match(verifier, new RegExp(`\\b${name}\\b`), name)
  }
})

test('a filter is found again in its own form: types as a list, and with commas in a URL', () => {
  const types = ['RunStarted', 'RunFailed']
  assert.equal(EventQuery.parse({ types }), { types })
  assert.equal(EventQueryParams.parse({ types: types.join() }), { types })
  assert.not.ok(EventQueryParams.safeParse({ types: 'RunStartd' }).success)
  assert.not.ok(EventQuery.safeParse({ typo: 'x' }).success)
})

test('what is no time is said once, with a time that would do', () => {
  for (const text of ['yesterday', '2026-11-23', '2026-11-23T25:00:00Z', '']) {
    const { error } = Instant.safeParse(text)
    assert.equal(
      error?.issues.map(({ message }) => message),
      ['takes a time such as 2026-01-31T12:00:00Z'],
      text,
    )
  }
  assert.is(Instant.parse('2026-11-23T12:00:00+01:00'), '2026-11-23T11:00:00.000Z')
})

test.run()
