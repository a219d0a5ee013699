import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { searchableText, snippetOf, wordsOf } from '../../projections/search-text.ts'

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

test.run()
