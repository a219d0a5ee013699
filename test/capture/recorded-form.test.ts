import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isReduced, recordedForm, secretsOf } from '../../src/capture/recorded-form.ts'

const form = suite('capture: recorded form')

form('images, sounds and files are recorded as digests with their size and type (CAP-11)', () => {
  const bytes = Buffer.from('a picture')
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  const data = bytes.toString('base64')
  const recorded = recordedForm(
    {
      content: [
        { type: 'image', data, mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'file:///a', blob: data } },
        { type: 'text', text: 'data', data: 'kept' },
      ],
    },
    [],
  )
  assert.equal(recorded, {
    content: [
      { type: 'image', data: { digest, bytes: 9, mediaType: 'image/png', kept: false }, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: { uri: 'file:///a', blob: { digest, bytes: 9, mediaType: 'application/octet-stream', kept: false } },
      },
      { type: 'text', text: 'data', data: 'kept' },
    ],
  })
  assert.ok(isReduced(recorded))
  assert.not(isReduced({ content: [{ type: 'text', text: 'a' }] }))
})

form('no secret of the environment is recorded, in values or in names (CAP-11)', () => {
  const secrets = secretsOf({
    API_KEY: 'sk-12345678',
    LONGER_TOKEN: 'sk-12345678-more',
    HOME: '/home/somebody',
    SHORT_KEY: 'abc',
  })
  const recorded = JSON.stringify(
    recordedForm({ 'sk-12345678': ['x sk-12345678-more y', { a: 'sk-12345678' }], home: '/home/somebody' }, secrets),
  )
  assert.not.match(recorded, /sk-1234/)
  assert.match(recorded, /LONGER_TOKEN/)
  assert.match(recorded, /home\/somebody/)
})

form.run()
