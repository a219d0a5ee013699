import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { ENVELOPE_TYP, envelopeSigningInput, type SignedEnvelope } from '../../src/signing/agent-signature.ts'
import { drive, ok, refusedWith, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const signatures = suite('signatures of agents')

async function open(alg: 'EdDSA' | 'ES256' = 'EdDSA', requireSignature = true) {
  const test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const { publicKey, privateKey } = await generateKeyPair(alg)
  const jwk = (await exportJWK(publicKey)) as JsonObject
  ok(await run.do({ kind: 'manifest', body: { agent: 'ann', jwk, requireSignature } }))
  const parent = async () => {
    const found = await test.ledger.context(alice, 'r', {})
    return String(found.ok && found.value.parent)
  }
  const sign = async (changed: Partial<SignedEnvelope> = {}) => {
    const envelope = {
      ledgerId: test.ledger.ledgerId,
      tenant: 'acme',
      run: 'r',
      agent: 'ann',
      parent: await parent(),
      mode: 'replace',
      payload: { x: 1 },
      ...changed,
    }
    const jws = await new CompactSign(envelopeSigningInput(envelope))
      .setProtectedHeader({ alg, typ: ENVELOPE_TYP })
      .sign(privateKey)
    return jws.replace(/\.[^.]*\./, '..')
  }
  return { test, run, parent, sign, [Symbol.asyncDispose]: () => test[Symbol.asyncDispose]() }
}

for (const alg of ['EdDSA', 'ES256'] as const) {
  signatures(`a handoff signed with ${alg} is established, its signature kept`, async () => {
    await using at = await open(alg)
    const signature = await at.sign()
    ok(await at.run.hand('ann', { x: 1 }, { parent: await at.parent(), signature }))
    assert.is(
      (await at.run.events()).find((event) => event.header.type === 'EnvelopeAccepted')?.data.signature,
      signature,
    )
    await verifiedFold(at.test, 'r')
  })
}

signatures('a handoff without the signature that its manifest requires is refused, and that is on record', async () => {
  await using at = await open()
  refusedWith(await at.run.hand('ann', { x: 1 }), 'signature-invalid')
  assert.is((await at.run.types()).at(-1), 'RequestRefused')
  ok(await at.run.hand('bob', { x: 1 }))
})

for (const [what, changed] of [
  ['another payload', { payload: { x: 2 } }],
  ['another run', { run: 's' }],
  ['another tenant', { tenant: 'other' }],
  ['another ledger', { ledgerId: '00000000-0000-4000-8000-000000000000' }],
  ['another agent', { agent: 'bob' }],
  ['another mode', { mode: 'merge' }],
  ['other tokens', { tokens: 7 }],
] as const) {
  signatures(`a signature over ${what} does not stand for this handoff`, async () => {
    await using at = await open()
    const signature = await at.sign(changed)
    refusedWith(await at.run.hand('ann', { x: 1 }, { parent: await at.parent(), signature }), 'signature-invalid')
    assert.is((await at.run.state()).step, 0)
  })
}

signatures('a signature is used once in a run, also where its handoff was refused (SEAL-16)', async () => {
  await using at = await open('EdDSA', false)
  ok(await at.run.hand('bob', { facts: ['f'] }))
  const parent = await at.parent()
  const signature = await at.sign()
  refusedWith(await at.run.hand('ann', { x: 1 }, { parent, signature }), 'contradiction')
  assert.is(await at.parent(), parent, 'the run stands where it stood')
  refusedWith(await at.run.hand('ann', { x: 1 }, { parent, signature }), 'signature-reused')
  const cold = await at.test.sibling()
  const again = { kind: 'envelope', body: { agent: 'ann', payload: { x: 1 }, parent, signature } } as const
  refusedWith(await cold.execute(alice, 'r', again, {}), 'signature-reused')
})

signatures(
  'a signed handoff names what it builds on, and a captured one is stale after the next (SEAL-15)',
  async () => {
    await using at = await open()
    const parent = await at.parent()
    const signature = await at.sign()
    refusedWith(await at.run.hand('ann', { x: 1 }, { signature }), 'parent-required')
    ok(await at.run.hand('bob', { y: 1 }))
    const stale = refusedWith(await at.run.hand('ann', { x: 1 }, { parent, signature }), 'stale-parent')
    assert.is(stale.evidence?.signed, true)
  },
)

signatures('a signature of an agent without a registered key is refused', async () => {
  await using at = await open()
  const signature = await at.sign({ agent: 'bob' })
  refusedWith(await at.run.hand('bob', { x: 1 }, { parent: await at.parent(), signature }), 'signature-invalid')
})

signatures.run()
