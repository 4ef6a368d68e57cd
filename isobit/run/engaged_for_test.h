// A client that offers a job, a trainer that accepts it, and the runs of it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isobit/run/engagement.h"
#include "isobit/run/testing.h"

namespace isobit::run {

using testing::Folder;
using testing::key;
using testing::small_job;

// Exchanges the trained state before it is scored and handed out.
inline Expected<train::SampleScores> score_other_weights(train::Trainer& trainer) {
  std::vector<NamedTensor> state = trainer.state();
  state.front().tensor = state.front().tensor.clone();
  state.front().tensor.span<float>()[0] += 1;
  ISOBIT_RETURN_IF_ERROR(trainer.restore(std::move(state), trainer.step()));
  return score(trainer);
}

class Engaged : public ::testing::Test {
 protected:
  OfferRequest offer_request(const train::Job& job) const {
    OfferRequest request;
    request.job = job;
    request.terms.trainer_keys = {key(2).public_key()};
    request.terms.accept_until = 1000;
    request.client = key(1);
    request.home = folder_ / "client";
    request.platform = here_;
    return request;
  }
  AcceptRequest accept_request(const verify::Offer& offer) const {
    AcceptRequest request;
    request.offer = offer;
    request.job = job_;
    request.trainer = key(2);
    request.home = folder_ / "trainer";
    request.now = 1000;
    request.platform = here_;
    return request;
  }
  verify::Offer offer() const { return offer_job(offer_request(job_)).value().offer; }
  // The fields that speak against it, and no engagement.
  std::vector<std::string> refused(const AcceptRequest& request) const {
    const auto result = accept_offer(request);
    if (!result) return {result.error().message};
    EXPECT_FALSE(result->engagement);
    std::vector<std::string> fields;
    for (const OfferProblem& p : result->problems) {
      EXPECT_FALSE(p.offered.empty() || p.found.empty() || p.reason.empty() || p.offered == p.found);
      fields.push_back(p.field);
    }
    return fields;
  }
  TrainRequest train_request(const verify::Engagement& engagement, const std::string& out) const {
    TrainRequest request;
    request.out = folder_ / out;
    request.job = job_;
    request.platform = here_;
    request.trainer = key(2);
    request.engagement = engagement;
    request.home = folder_ / "trainer";
    return request;
  }

  const platform::Platform here_ = platform::parse_platform("ordered").value();
  Folder folder_{"engaged"};
  train::Job job_ = small_job({"job.steps=3"});
};

}  // namespace isobit::run
