"""The operation of an account, and the services of its pages: mail and payments, where the settings have them."""

from typing import Final

from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract.feature import Feature, OpenFeature
from serve.contract.operation import Operation
from serve.features.account import answers
from serve.features.account.compte import compte
from serve.features.account.login_throttle import LoginThrottle
from serve.features.account.outbox import Outbox
from serve.features.account.stripe_account import StripeAccount


def open_account(context: ServerContext, limiter: Limiter) -> OpenFeature:
    """Open the limits of log-ins, and the mail and the payments of the settings.

    Raises:
        NotAllowedError, OSError: one of them cannot be used.
    """
    config, holder = context.config, context.holder
    context.services[LoginThrottle] = LoginThrottle(limiter, config.debit)
    if config.paiement:
        context.services[StripeAccount] = StripeAccount(config.paiement, config.base_url)
    if not config.courriel:
        return OpenFeature()
    outbox = Outbox(config.courriel, lambda: holder.store.accounts, config.base_url, context.now)
    context.services[Outbox] = outbox
    context.metrics.mails = outbox.count
    return OpenFeature(background=outbox.run)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "readAccount", "/api/v1/compte", "compte", "account", "Account",
            compte, answers.Compte, place=170, account=True, headers=["Vary"],
        ),
    ),
    open_account,
)  # fmt: skip
