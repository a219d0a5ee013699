import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ANSWER_MEMBERS } from '../../src/http/openapi-answers.ts'
import { MEMBERS, PARAMETERS } from '../../src/http/openapi-descriptions.ts'
import { PROBLEM_TEXTS } from '../../src/http/problem-texts.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { testEdge } from '../support/test-edge.ts'

const test = suite('http: the description of the API')

interface Described {
  readonly servers: readonly object[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, { readonly additionalProperties?: boolean }>> }
}

interface Operation {
  readonly operationId: string
  readonly security?: readonly object[]
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >
}

interface Node {
  readonly description?: string
  readonly name?: string
  readonly [member: string]: unknown
}

/** Every parameter, and every member of a body or of a named schema, with the place where it stands. */
function* describable(node: unknown, place: string): Generator<readonly [string, Node]> {
  if (Array.isArray(node)) for (const [at, each] of node.entries()) yield* describable(each, `${place}/${at}`)
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return
  for (const [name, member] of Object.entries(node)) {
    if (name === 'properties')
      for (const [key, value] of Object.entries(member)) yield [`${place}.${key}`, value as Node]
    if (name === 'parameters' && Array.isArray(member))
      for (const each of member as readonly Node[]) yield [`${place}?${each.name}`, each]
    yield* describable(member, `${place}/${name}`)
  }
}

test('every parameter and every member of the API says what it is (A147)', async () => {
  await using edge = await testEdge()
  const document = (await (await edge.app.request('/openapi.json')).json()) as Node
  const found = [...describable(document, '')]
  assert.ok(found.length > 300, 'the walk must see the document')
  const silent = found.filter(([, { description = '' }]) => description.length < 5)
  assert.equal(
    silent.map(([place]) => place),
    [],
  )
  const said = new Set(found.map(([, { description }]) => description))
  for (const [name, text] of Object.entries({ ...PARAMETERS, ...MEMBERS, ...ANSWER_MEMBERS }))
    assert.ok(said.has(text), `${name} is described and nowhere in the API`)
})

test('every operation has an id, and says where and with what it is asked (HTTP-36)', async () => {
  await using edge = await testEdge()
  const document = JSON.parse(await (await edge.app.request('/openapi.json')).text()) as Described
  assert.equal(document.servers, [{ url: '/', description: 'The ledger that serves this description.' }])
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  const ids = operations.map(({ operationId }) => operationId)
  assert.is(new Set(ids).size, operations.length)
  assert.ok(operations.every(({ security }) => security !== undefined))
})

/** Their answers are a value that a caller sent, and the description itself. */
const ANY_JSON: readonly string[] = ['/v1/runs/{run}/values/{digest}', '/openapi.json']

test('every answer in JSON is one named schema, and every object in it names all of its members (HTTP-50)', async () => {
  await using edge = await testEdge()
  const document = JSON.parse(await (await edge.app.request('/openapi.json')).text()) as Described
  const answers = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.values(operations).flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(
          ([status, { content }]) =>
            !ANY_JSON.includes(path) && status.startsWith('2') && content?.['application/json'],
        )
        .map(([status, { content }]) => ({
          at: `${operationId} ${status}`,
          schema: content?.['application/json']?.schema,
        })),
    ),
  )
  assert.ok(answers.length > 80, `the walk must see the answers: ${answers.length}`)
  const unnamed = answers.filter(({ schema = {} }) => !('$ref' in schema))
  assert.equal(
    unnamed.map(({ at }) => at),
    [],
  )
  const { Problem: _, ...schemas } = document.components.schemas
  assert.equal([...openObjects(schemas, '')], [])
})

/** Places of objects that name members and allow others. */
function* openObjects(node: unknown, place: string): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  if ('properties' in node && 'type' in node && !('additionalProperties' in node)) yield place
  for (const [name, member] of Object.entries(node)) yield* openObjects(member, `${place}/${name}`)
}

test('a problem is one schema, which names every stable code (HTTP-51)', async () => {
  await using edge = await testEdge()
  const document = JSON.parse(await (await edge.app.request('/openapi.json')).text()) as Described
  const problem = document.components.schemas.Problem as {
    readonly properties?: { readonly code?: { readonly enum?: readonly string[] } }
  }
  assert.equal([...(problem.properties?.code?.enum ?? [])].sort(), Object.keys(PROBLEM_TEXTS).sort())
  for (const operations of Object.values(document.paths))
    for (const { operationId, responses } of Object.values(operations))
      assert.equal(
        responses['4XX']?.content?.['application/problem+json']?.schema,
        { $ref: '#/components/schemas/Problem' },
        operationId,
      )
})

test('an answer with a member that the description does not name is found (HTTP-36)', async () => {
  const wrap = (ledger: Ledger): Ledger => ({
    ...ledger,
    context: async (...asked) => {
      const found = await ledger.context(...asked)
      return found.ok ? { ...found, value: { ...found.value, unheard: 1 } } : found
    },
  })
  await using edge = await testEdge({ wrap })
  await edge.started('r')
  const error = await edge.get('/v1/runs/r/context').catch((thrown: unknown) => thrown)
  assert.match(error instanceof Error ? error.message : 'nothing was thrown', /unheard/)
})

test.run()
