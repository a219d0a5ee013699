import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { matchesText, parsePhrases, searchableText, snippetOf, wordsOf } from '../../projections/search-text.ts'

const test = suite('texts that can be searched')

test('plain text is taken apart into the words that it has within any other text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
      assert.equal([...wordsOf(text), 'e'], wordsOf(`${text} é`))
    }),
  )
})

test('what is found is shown with its place, in bodies of any shape', () => {
  const data = { a: ['x', { 'b/c': 'the Wörd here' }], n: 4711, snapshot: { hidden: 'secret' }, signature: 'unread' }
  assert.equal(snippetOf([['word']], data), { path: '/a/1/b~1c', before: 'the ', match: 'Wörd', after: ' here' })
  assert.is(snippetOf([['4711']], data)?.path, '/n')
  assert.is(snippetOf([['secret']], data), undefined)
  assert.not.match(searchableText(data), /secret|unread/)
})

test('names of members and ids are searched in what agents and tools wrote, and nowhere else; the id of a run where it begins (LOG-62)', () => {
  const id = '0190c2a4-7d1f-7000-8000-000000000001'
  const data = { payload: { orderRef: { signature: id } }, callId: id, phase: 'model', $sealed: 'x' }
  const found = (text: string, run?: string) => matchesText(parsePhrases(text) ?? [], data, run)
  assert.equal(
    ['orderRef', 'signature', id, 'model'].map((text) => found(text)),
    [true, true, true, true],
  )
  assert.equal(
    ['payload', 'phase', 'callId', 'x'].map((text) => found(text)),
    [false, false, false, false],
  )
  assert.equal(snippetOf([['orderref']], data), { path: '/payload/orderRef', before: '', match: 'orderRef', after: '' })
  assert.equal([found('order-17'), found('order-17', 'order-17')], [false, true])
})

test.run()
