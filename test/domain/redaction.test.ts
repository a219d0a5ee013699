import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { type RedactionRule, RedactionRules } from '../../schemas/redaction.ts'
import { COMMAND_MEMBERS, type Members } from '../../src/domain/redaction/command-members.ts'
import { compileRules } from '../../src/domain/redaction/compile-rules.ts'
import { spansOf } from '../../src/domain/redaction/detectors.ts'
import { placeFault } from '../../src/domain/redaction/place-fault.ts'
import { redactCommand } from '../../src/domain/redaction/redact-command.ts'
import { TextSteps } from '../../src/domain/redaction/text-steps.ts'
import type { RunCommand } from '../../src/domain/run-command.ts'
import { finish, Pauses, PIECE_STEPS } from '../../src/domain/yielding.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const test = suite('leaving out what rules name')

const env = {
  blind: (text: string) => `sha256:${Buffer.from(text).toString('hex').padEnd(64, '0').slice(-64)}`,
  textOf: canonicalJson,
}

function redacted(args: Json, rules: readonly RedactionRule[]): { args: Json; at: string[] } {
  const done = finish(redactCommand({ kind: 'claim', body: { tool: 't', args } }, rules, env))
  if (!done.ok) throw new Error(done.refusal.code)
  const { body } = done.command as unknown as { body: { args: Json } }
  return { args: body.args, at: done.leftOut.map(({ at }) => at) }
}

const found = (detector: Parameters<typeof spansOf>[0], text: string): string[] =>
  finish(spansOf(detector, text, new TextSteps({ stepsLeft: 1e6 }, new Pauses())))
    .flat()
    .map(({ from, to }) => text.slice(from, to))

test('each detector finds its own, whole, and passes over what only looks like it (RUN-94)', () => {
  assert.equal(found('email', 'to <a.b+c@mail.example.com>, not @home nor a@b'), ['a.b+c@mail.example.com'])
  assert.equal(
    found('card', 'pay 4111 1111 1111 1111 12/27, 378282246310005, not 4111111111111112 nor 1700000000000'),
    ['4111 1111 1111 1111', '378282246310005'],
  )
  assert.equal(
    found('iban', 'DE89 3704 0044 0532 0130 00 please, GB82WEST12345698765432, not DE00370400440532013000'),
    ['DE89 3704 0044 0532 0130 00', 'GB82WEST12345698765432'],
  )
  assert.equal(found('phone', 'call +49 (30) 123-4567, not 12345678 nor 2+3456789'), ['+49 (30) 123-4567'])
  assert.equal(found('us-ssn', '078-05-1120, not 000-12-3456 nor 1078-05-1120'), ['078-05-1120'])
  assert.equal(found('jwt', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl and a.b.c'), [
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  ])
  const key = ['-----BEGIN', 'PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----'].join(' ')
  assert.equal(found('secret', `${key}\nAuthorization: Bearer abcdef012345678, token authentication`), [
    key,
    'Bearer abcdef012345678',
  ])
})

test('a value that is hidden is left out all the same: full-width, unseen characters, a number, a name (A246)', () => {
  const rules: RedactionRule[] = [
    { name: 'card', find: ['card'] },
    { name: 'email', find: ['email'] },
  ]
  const wide = [...'4111111111111111'].map((each) => String.fromCharCode(each.charCodeAt(0) + 0xfee0)).join('')
  const hidden = [
    '4111\u200b1111\u200b1111\u200b1111',
    wide,
    4111111111111111,
    'a\uff20example.com',
    'x@exam\u00adple.com',
  ]
  for (const value of hidden) {
    const { args } = redacted([value], rules)
    assert.match(JSON.stringify(args), /^\["\[redacted: (card|email)\](\.com)?"\]$/, String(value))
  }
  assert.equal(redacted({ 'a@b.example': { deep: 1 }, c: 2 }, rules).args, { c: 2 })
})

test('places cover what lies at them or below, with * and ** (RUN-94)', () => {
  const args = { card: { no: 1, holder: ['x'] }, list: [{ pin: 1, ok: 2 }], a: { b: { pin: 3 } } }
  const rules: RedactionRule[] = [
    { name: 'one', at: ['/args/card/*'] },
    { name: 'deep', at: ['/**/pin'] },
  ]
  assert.equal(redacted(args, rules), {
    args: {
      card: { no: '[redacted: one]', holder: '[redacted: one]' },
      list: [{ pin: '[redacted: deep]', ok: 2 }],
      a: { b: { pin: '[redacted: deep]' } },
    },
    at: ['/args/card/no', '/args/card/holder', '/args/list/0/pin', '/args/a/b/pin'],
  })
  assert.is(redacted(args, [{ name: 'all', at: ['/args'] }]).args, '[redacted: all]')
})

/** Bodies of every kind of command, with all that a place can name at every place that a caller's value has there. */
function everyValue(place: readonly string[]): RunCommand[] {
  const below = place.map((_, i) =>
    place.slice(i).reduceRight<Json>((value, token) => ({ [namedBy(token)]: value }), 1),
  )
  const all = below.reduce<JsonObject>((merged, each) => deepMerged(merged, each as JsonObject), { k: 1 })
  return Object.entries(COMMAND_MEMBERS as Readonly<Record<string, Members>>).map(([kind, { values }]) => {
    const body = values.reduce<JsonObject>(
      (made, { path, form }) => deepMerged(made, nested(path, form === 'text' ? 'x' : all) as JsonObject),
      {},
    )
    return { kind, name: 'n', body } as unknown as RunCommand
  })
}
const namedBy = (token: string): string => (token === '*' || token === '**' ? 'k' : token)
const nested = ([first, ...rest]: readonly string[], value: Json): Json =>
  first === undefined ? value : first === '*' ? [nested(rest, value)] : { [first]: nested(rest, value) }
const deepMerged = (a: JsonObject, b: JsonObject): JsonObject => {
  const merged = { ...a }
  for (const [name, value] of Object.entries(b)) {
    const before = merged[name]
    const lists = Array.isArray(before) && Array.isArray(value)
    if (lists) merged[name] = [deepMerged(before[0] as JsonObject, value[0] as JsonObject)]
    else if (!isJsonObject(before ?? null)) merged[name] = value
    else if (isJsonObject(value)) merged[name] = deepMerged(before as JsonObject, value)
  }
  return merged
}

test('a place is refused exactly where it leaves nothing out of any request, whatever that holds (LIFE-11)', () => {
  const seed = testSeed(94)
  const random = seededRandom(seed)
  const tokens = [
    'input',
    'args',
    'error',
    'details',
    'message',
    'supersedes',
    'reason',
    '0',
    '*',
    '**',
    'customer',
    'payload',
  ]
  let refused = 0
  const cases = rounds(300, 3_000, 30_000)
  for (let n = 0; n < cases; n += 1) {
    const place = Array.from(
      { length: 1 + Math.floor(random() * 4) },
      () => tokens[Math.floor(random() * tokens.length)] ?? '*',
    )
    const rules: RedactionRule[] = [{ name: 'a', at: [`/${place.join('/')}`] }]
    const leftOut = everyValue(place).some((command) => {
      const done = finish(redactCommand(command, rules, env))
      return done.ok && done.leftOut.length > 0
    })
    const fault = placeFault(rules)
    assert.is(fault === undefined, leftOut, `seed ${seed}: ${rules[0]?.at}: ${fault?.message}`)
    refused += leftOut ? 0 : 1
  }
  assert.ok(refused > cases / 10 && refused < cases, `seed ${seed}: ${refused} of ${cases} refused`)
})

test('a place that matches nothing says what to write instead, and that matches (LIFE-11)', () => {
  for (const [written, instead] of [
    ['/customer/**', '/*/customer/**'],
    ['/arg/card', '/args/card'],
    ['/inputs', '/input'],
    ['/error/text', '/error/message'],
  ] as const) {
    const { message } = placeFault([{ name: 'a', at: ['/args', written] }]) ?? {}
    assert.ok(message?.includes(instead), `${written}: ${message}`)
    assert.is(placeFault([{ name: 'a', at: [instead] }]), undefined, instead)
  }
  const deep = { name: 'a', at: [`/supersedes${'/**'.repeat(160)}/x`] }
  assert.ok(placeFault(Array.from({ length: 2_000 }, () => deep)), 'and many of them take no time')
})

test('what is left out stays out: a marker that is carried on is left as it is, and listed by nobody (A248)', () => {
  const rules: RedactionRule[] = [
    { name: 'email', find: ['email'], comparable: true },
    { name: 'all', pattern: 'e' },
    { name: 'pin', at: ['/args/pin'] },
  ]
  const once = redacted({ mail: 'a@b.example', pin: 1 }, rules)
  const twice = redacted(once.args, rules)
  assert.equal(twice, { args: once.args, at: [] })
  assert.equal(redacted('[redacted: nobody]', [{ name: 'x', find: ['email'] }]), { args: '[redacted: nobody]', at: [] })
})

test('no part of a secret is left, wherever it stands in a document at random (A245)', () => {
  const rules: RedactionRule[] = [
    { name: 'email', find: ['email'] },
    { name: 'card', find: ['card'] },
    { name: 'code', pattern: 'zq-[0-9]+' },
    { name: 'pin', at: ['/**/pin'] },
  ]
  const random = seededRandom(testSeed(7))
  const secrets: Json[] = ['wonderland@example.com', '4111-1111-1111-1111', 'zq-77', 4111111111111111]
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const value = (depth: number): Json => {
    const kind = depth === 0 ? 0 : Math.floor(random() * 5)
    if (kind === 1) return Array.from({ length: 3 }, () => value(depth - 1))
    if (kind === 2) return { a: value(depth - 1), [`k ${pick(secrets)}`]: 1, pin: value(depth - 1) }
    if (kind === 3) return `before ${pick(secrets)} after`
    return pick([...secrets, true, null, 3])
  }
  for (let i = 0; i < rounds(100, 300); i += 1) {
    const text = JSON.stringify(redacted(value(5), rules).args)
    assert.not.match(text, /wonderland|4111|zq-/)
  }
})

test('looking takes time linear in the text, pauses, and is refused past its count (A247)', () => {
  const long = 512 * 1024
  const rules: RedactionRule[] = [{ name: 'all', find: ['card', 'email', 'iban', 'jwt', 'phone', 'secret', 'us-ssn'] }]
  const hostile = [
    '@',
    'a@',
    'eyJ',
    '4 ',
    '+1 ',
    '-----BEGIN PRIVATE KEY-----',
    'AA00 AA00',
    '1-',
    '://a:',
    'bearer ',
    'a'.repeat(63),
  ]
  for (const text of hostile) redacted(text.repeat(long / text.length), rules)
  const many = Array.from({ length: 40_000 }, (_, i) => `text ${i}`)
  let pauses = 0
  const work = redactCommand({ kind: 'claim', body: { tool: 't', args: many } }, rules, env)
  while (work.next().done !== true) pauses += 1
  assert.ok(pauses > 2 && pauses < PIECE_STEPS, `${pauses}`)
  const slow: RedactionRule[] = [{ name: 'slow', pattern: '(a?){400}b' }]
  assert.throws(() => redacted('a'.repeat(long), slow), /redaction-too-large/)
  const places: RedactionRule[] = [{ name: 'deep', at: ['/**/**/**/**/**/**/**/**/x'] }]
  let nested: Json = {}
  for (let i = 0; i < 60; i += 1) nested = { a: nested, b: Array.from({ length: 50 }, () => ({})) }
  redacted(nested, places)
})

test('many parts of one text are refused or left out as one, never an exception (A247)', () => {
  const rules: RedactionRule[] = [{ name: 'email', find: ['email'] }]
  assert.throws(() => redacted('a@a.a '.repeat(170_000), rules), /redaction-too-large/)
  assert.is(redacted('a.a@'.repeat(250_000), rules).args, '[redacted: email]@')
})

test('a pattern gives way within one text (A247)', () => {
  const body = { tool: 't', args: 'a'.repeat(256 * 1024) }
  const work = redactCommand({ kind: 'claim', body }, [{ name: 'p', pattern: '(?:a|b|c|d)*x' }], env)
  let pauses = 0
  while (work.next().done !== true) pauses += 1
  assert.ok(pauses > 50, `${pauses}`)
})

test('a pattern that backtracks, looks around or names itself twice is no rule', () => {
  assert.is(RedactionRules.safeParse([{ name: 'a' }]).success, false)
  assert.is(
    RedactionRules.safeParse([
      { name: 'a', find: ['card'] },
      { name: 'a', find: ['iban'] },
    ]).success,
    false,
  )
  for (const pattern of ['(?=x)', '(a)\\1', '(', 'a{1,100000}'])
    assert.is(compileRules([{ name: 'a', pattern }]).ok, false)
})

test.run()
