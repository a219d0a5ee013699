import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { foldSigned, type RunState, safeKey } from '../../projections/run-state.ts'
import type { JsonObject } from '../../schemas/json.ts'
import {
  ENVELOPE_TYP,
  ENVELOPE_WITH_MOVES_TYP,
  envelopeSigningInput,
  isLowS,
  type SignedEnvelope,
  signatureSpellings,
} from '../../src/signing/agent-signature.ts'
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
  const sign = async (changed: Partial<SignedEnvelope> = {}, typ = ENVELOPE_TYP) => {
    const envelope = {
      ledgerId: test.ledger.ledgerId,
      tenant: alice.tenant,
      run: 'r',
      agent: 'ann',
      parent: await parent(),
      mode: 'replace',
      payload: { x: 1 },
      ...changed,
    }
    const jws = await new CompactSign(envelopeSigningInput(envelope)).setProtectedHeader({ alg, typ }).sign(privateKey)
    const [detached] = signatureSpellings(jws.replace(/\.[^.]*\./, '..')).filter((each) => isLowS(each, jwk))
    return detached ?? ''
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

signatures('(A59) an ES256 signature is taken in one of its two spellings: that of the lower s (SEAL-16)', async () => {
  await using at = await open('ES256')
  const parent = await at.parent()
  const [low = '', high = ''] = signatureSpellings(await at.sign())
  const refused = refusedWith(await at.run.hand('ann', { x: 1 }, { parent, signature: high }), 'signature-invalid')
  assert.match(refused.detail, /n - s/)
  ok(await at.run.hand('ann', { x: 1 }, { parent, signature: low }))
})

signatures(
  '(A59) what was signed is used once, however often it is signed, also after a rollback (SEAL-16)',
  async () => {
    await using at = await open('ES256')
    const parent = await at.parent()
    const [first, second] = [await at.sign(), await at.sign()]
    assert.is.not(first, second)
    ok(await at.run.hand('ann', { x: 1 }, { parent, signature: first }))
    ok(await at.run.hand('bob', { x: 1, y: 1 }))
    ok(await at.run.do({ kind: 'rollback', body: { reason: 'again', toStep: 0 } }))
    assert.is(await at.parent(), parent, 'the run stands where it stood')
    for (const signature of [first, second]) {
      refusedWith(await at.run.hand('ann', { x: 1 }, { parent, signature }), 'signature-reused')
      const cold = await at.test.sibling()
      const again = { kind: 'envelope', body: { agent: 'ann', payload: { x: 1 }, parent, signature } } as const
      refusedWith(await cold.execute(alice, 'r', again, {}), 'signature-reused')
    }
    const other = await at.sign({ payload: { x: 2 } })
    ok(await at.run.hand('ann', { x: 2 }, { parent, signature: other }))
  },
)

signatures('(A59) records of 0.1.0 hold the signature alone: neither of its spellings is taken again', async () => {
  await using at = await open('ES256')
  const [low = '', high = ''] = signatureSpellings(await at.sign())
  for (const kept of [low, high]) {
    const state = { signatures: {} } as RunState
    foldSigned(state, { signature: kept })
    assert.ok(signatureSpellings(low).some((name) => state.signatures[safeKey(name)] === true))
  }
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

signatures(
  'what an agent declares to move is under its signature, by a type of its own (SEAL-14, JUD-45)',
  async () => {
    const moves = [{ path: '/at', as: 'cursor', reason: 'where it is' }]
    await using at = await open()
    const hand = async (signature: string, more: object) =>
      at.run.hand('ann', { x: 1 }, { parent: await at.parent(), signature, ...more })
    const typed = await at.sign({ moves }, ENVELOPE_WITH_MOVES_TYP)
    refusedWith(await hand(typed, {}), 'signature-invalid')
    refusedWith(await hand(typed, { moves: [{ ...moves[0], as: 'gauge' }] }), 'signature-invalid')
    refusedWith(await hand(await at.sign({ moves }), { moves }), 'signature-invalid')
    refusedWith(await hand(await at.sign(), { moves }), 'signature-invalid')
    refusedWith(await hand(await at.sign({}, ENVELOPE_WITH_MOVES_TYP), {}), 'signature-invalid')
    ok(await hand(typed, { moves }))
  },
)

signatures.run()
