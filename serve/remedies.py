"""What a caller can do about a limit that is reached: the tool that is missing, the next plan."""

from collections.abc import Callable, Mapping

from quota.plans import Plan
from serve.caller import Caller


def remedy(
    caller: Caller, plans: Mapping[str, Plan], figure: Callable[[Plan], str], otherwise: str
) -> str:
    """The remedies with their figures (§4.6, §7), or `otherwise` where there are none.

    Args:
        figure: what a plan allows: `1000 appels par jour`.
    """
    remedies = []
    if caller.souscrit is not None:
        paid = plans[caller.souscrit]
        remedies.append(f"Avec l'outil API, votre offre {paid.nom} permet {figure(paid)}")
    following = plans.get(caller.plan.suivant)
    if following is not None and following.slug != caller.souscrit:  # which is had already
        remedies.append(f"Offre suivante : {following.nom}, {figure(following)} (/tarifs)")
    return ". ".join(remedies) or otherwise
