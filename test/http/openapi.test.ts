import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MEMBERS, PARAMETERS } from '../../src/http/openapi-descriptions.ts'
import { testEdge } from '../support/test-edge.ts'

const test = suite('http: the description of the API')

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
  for (const [name, text] of Object.entries({ ...PARAMETERS, ...MEMBERS }))
    assert.ok(said.has(text), `${name} is described and nowhere in the API`)
})

test.run()
